import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'

const SCRIPT = `import { runServiceCommands } from ${JSON.stringify(new URL('../dist/commands.js', import.meta.url).href)}
  const wait = () => new Promise(() => { setInterval(() => {}, 1000); process.stdout.write('waiting') })
  await runServiceCommands({
    service: { name: 'signet-test', version: '1.2.3' },
    component: 'test',
    summary: 'Serve.',
    readConfig: () => ({}),
    serve: wait,
    migrate: wait,
    commands: { inspect: { summary: 'Inspect.', run: wait } },
  })`

describe('a command of a service that ends', () => {
  it.each([
    ['migrate', 'SIGTERM', 143],
    ['migrate', 'SIGINT', 130],
    ['inspect', 'SIGTERM', 143],
  ] as const)('%s ends at once at %s, by itself as process 1 must', async (command, signal, code) => {
    const child = spawn(
      process.execPath,
      ['--input-type=module', '--eval', SCRIPT, '--', 'script', command],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(child.stdout, 'data')
    child.kill(signal)
    expect(await once(child, 'exit')).toEqual([code, null])
  })
})
