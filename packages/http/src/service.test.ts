import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'

const script = (start: string) =>
  `import { runService } from ${JSON.stringify(new URL('./service.ts', import.meta.url).href)}
   await runService(async () => { ${start} })`

function run(start: string) {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script(start)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let err = ''
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()))
  return { child, exit: async () => [((await once(child, 'exit')) as [number])[0], err] as const }
}

const RUNNING = `process.stdout.write('up'); const t = setInterval(() => {}, 1000)
  return { close: async () => { clearInterval(t); process.stderr.write('closed') } }`

describe('runService', () => {
  it('exits with 1 and the list of problems when the start fails', async () => {
    const { exit } = run(
      `const e = new Error('PORT is required\\nDATABASE_URL is required'); e.name = 'ConfigError'; throw e`,
    )
    expect(await exit()).toEqual([1, 'PORT is required\nDATABASE_URL is required\n'])
  })

  it('names the setting of a port that is taken, in one line', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const module = JSON.stringify(new URL('./listen.ts', import.meta.url).href)
    const { exit } = run(
      `const { listen } = await import(${module})
       return listen(() => {}, { port: ${port}, host: '127.0.0.1', setting: 'X_PORT' })`,
    )
    expect(await exit()).toEqual([
      1,
      `cannot listen on port ${port} of 127.0.0.1 (X_PORT): the port is taken\n`,
    ])
    taken.close()
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('closes and exits with 0 on %s', async (signal) => {
    const { child, exit } = run(RUNNING)
    if (child.stdout) await once(child.stdout, 'data')
    child.kill(signal)
    expect(await exit()).toEqual([0, 'closed'])
  })

  it('goes when the process that forked it goes', async () => {
    const { child, exit } = run(RUNNING)
    if (child.stdout) await once(child.stdout, 'data')
    child.disconnect()
    expect(await exit()).toEqual([0, 'closed'])
  })
})
