import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'

const script = (start: string, options = '{}') =>
  `import { runService } from ${JSON.stringify(new URL('../dist/service.js', import.meta.url).href)}
   await runService('test', async () => { ${start} }, ${options})`

const TASK = `import { runTask } from ${JSON.stringify(new URL('../dist/service.js', import.meta.url).href)}
  await runTask('test', async (log) => { BODY })`

function run(start: string, options?: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script(start, options)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('the process has no output')
  let [out, err] = ['', '']
  stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const ended = [once(stdout, 'end'), once(stderr, 'end')]
  const exit = async () => {
    const [code] = (await once(child, 'exit')) as [number]
    await Promise.all(ended)
    return [code, err, out] as const
  }
  return { child, exit }
}

const RUNNING = `process.stdout.write('up'); const t = setInterval(() => {}, 1000)
  return { close: async () => { clearInterval(t); console.log('closed') } }`

const linesOf = (printed: string) =>
  printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
const STOPPED = [{ msg: 'draining', seconds: 0 }, { msg: 'stopped' }]

async function problemsOfListening(port: number, host: string): Promise<unknown> {
  const module = JSON.stringify(new URL('../dist/listen.js', import.meta.url).href)
  const options = JSON.stringify({ port, host, settings: { port: 'X_PORT', host: 'X_HOST' } })
  const { exit } = run(
    `const { listen } = await import(${module})
     return listen(() => {}, ${options})`,
  )
  const [code, err] = await exit()
  expect(code).toBe(1)
  return (JSON.parse(err) as { problems: unknown }).problems
}

describe('runService', () => {
  it('exits with 1 and the list of problems in one line of JSON when the start fails', async () => {
    const { exit } = run(
      `const e = new Error('PORT is required\\nDATABASE_URL is required'); e.name = 'ConfigError'; throw e`,
    )
    const [code, err] = await exit()
    expect(code).toBe(1)
    expect(JSON.parse(err)).toMatchObject({
      level: 'fatal',
      component: 'test',
      problems: ['PORT is required', 'DATABASE_URL is required'],
    })
  })

  it('prints the stack of an error that is not for operators', async () => {
    const [code, err] = await run(`throw new TypeError('oh')`).exit()
    expect(code).toBe(1)
    expect(JSON.parse(err)).toMatchObject({
      level: 'fatal',
      error: { name: 'TypeError', message: 'oh', stack: expect.stringContaining('at ') as unknown },
    })
  })

  it('names the setting of a port that is taken, in one line', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    expect(await problemsOfListening(port, '127.0.0.1')).toEqual([
      `cannot listen on port ${port} of 127.0.0.1 (X_PORT): the port is taken`,
    ])
    taken.close()
  })

  it('names the setting of an address that the machine does not have', async () => {
    // RFC 5737, section 3: an address for documentation.
    expect(await problemsOfListening(0, '192.0.2.1')).toEqual([
      'cannot listen on port 0 of 192.0.2.1 (X_HOST): this machine does not have the address',
    ])
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('closes and exits with 0 on %s', async (signal) => {
    const { child, exit } = run(RUNNING)
    if (child.stdout) await once(child.stdout, 'data')
    child.kill(signal)
    const [code, err, out] = await exit()
    expect([code, linesOf(out.slice('up'.length)), linesOf(err)]).toMatchObject([
      0,
      STOPPED,
      [{ text: 'closed' }],
    ])
  })

  it('exits with 1 when it is asked to stop while its start waits without end', async () => {
    const { child, exit } = run(
      `process.stdout.write('starting'); setInterval(() => {}, 1000); return new Promise(() => {})`,
      '{ stopLimitMs: 10 }',
    )
    if (child.stdout) await once(child.stdout, 'data')
    child.kill('SIGTERM')
    const [code] = await exit()
    expect(code).toBe(1)
  })

  it('goes when the process that forked it goes', async () => {
    const { child, exit } = run(RUNNING)
    if (child.stdout) await once(child.stdout, 'data')
    child.disconnect()
    const [code, err, out] = await exit()
    expect([code, linesOf(out.slice('up'.length)), linesOf(err)]).toMatchObject([
      0,
      STOPPED,
      [{ text: 'closed' }],
    ])
  })
})

describe('runTask', () => {
  it.each([
    [
      'ends with 0',
      `log.info('done', { n: 1 })`,
      0,
      [{ level: 'info', msg: 'done', n: 1, component: 'test' }],
    ],
    [
      'ends with 1 when it fails',
      `log.info('begun'); throw new Error('oh')`,
      1,
      [{ msg: 'begun' }, { level: 'fatal', error: { message: 'oh' } }],
    ],
  ])('prints lines of JSON and %s', (_name, body, expected, lines) => {
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', TASK.replace('BODY', body)], {
      encoding: 'utf8',
    })
    expect(child.status).toBe(expected)
    expect(linesOf(`${child.stdout}${child.stderr}`)).toMatchObject(lines)
  })
})
