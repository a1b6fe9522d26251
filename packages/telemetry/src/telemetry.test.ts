import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger, createRegistry, pickRequestId } from './index.js'
import { redact } from './redact.js'

function capture(level: 'info' | 'debug' = 'info') {
  const lines: Record<string, unknown>[] = []
  const log = createLogger({
    level,
    component: 'api',
    sink: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  })
  return { log, lines }
}

describe('createLogger', () => {
  it('writes one JSON line with time, level, component and fields', () => {
    const { log, lines } = capture()
    log.info('request', { request_id: 'r1', status: 200 })
    expect(lines).toMatchObject([
      { level: 'info', component: 'api', msg: 'request', request_id: 'r1', status: 200 },
    ])
    expect(Date.parse(String(lines[0]?.['time']))).not.toBeNaN()
  })

  it('writes `warning` in full', () => {
    const { log, lines } = capture()
    log.warn('careful')
    expect(lines).toMatchObject([{ level: 'warning' }])
  })

  it('drops lines below its level', () => {
    const { log, lines } = capture()
    log.debug('noise')
    expect(lines).toEqual([])
  })

  it('cannot be made to forge a second line', () => {
    const { log, lines } = capture()
    log.warn('a\n{"level":"error"}', { name: 'x\r\ny' })
    expect(lines).toHaveLength(1)
  })
})

describe('a logger on standard output', () => {
  const program = (body: string) => `
    import { createLogger } from '${import.meta.resolve('../dist/index.js')}'
    const log = createLogger({ level: 'info', component: 'api' })
    for (let n = 0; n < 3; n += 1) log.info('line', { n })
    ${body}`

  const run = (body: string) =>
    spawnSync(process.execPath, ['--input-type=module', '--eval', program(body)], { encoding: 'utf8' })

  it.each([
    ['goes on', 'await new Promise(setImmediate)'],
    ['closes it', 'await log.close()'],
    ['exits at once', 'process.exit(0)'],
    ['crashes', `throw new Error('crash')`],
  ])('writes every line, in order, when the program %s', (_case, body) => {
    const { stdout } = run(body)
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual([0, 1, 2])
  })
})

describe('a log file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-log-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'app', 'app.log')
  const run = (body: string) => {
    const program = `
      import { mkdirSync, rmSync } from 'node:fs'
      import { createLogger } from '${import.meta.resolve('../dist/index.js')}'
      const folder = ${JSON.stringify(join(folder, 'app'))}
      mkdirSync(folder, { recursive: true })
      const log = createLogger({ level: 'info', component: 'api', file: ${JSON.stringify(file)} })
      const written = () => new Promise(setImmediate)
      ${body}`
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
    })
    const lines = (text: string) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as object)
    return { status: child.status, stderr: lines(child.stderr), lines: lines(readFileSync(file, 'utf8')) }
  }
  beforeEach(() => rmSync(join(folder, 'app'), { recursive: true, force: true }))

  it('has the last lines of a process that exits at once', () => {
    expect(run(`log.info('a'); log.info('b'); process.exit(0)`)).toMatchObject({
      status: 0,
      lines: [{ msg: 'a' }, { msg: 'b' }],
    })
  })

  it('that cannot be written, as on a full disk, is reported once, and used again afterwards', () => {
    const body = `
      rmSync(folder, { recursive: true })
      for (const message of ['lost', 'lost, too']) (log.info(message), await written())
      mkdirSync(folder)
      log.info('kept')`
    const failure = {
      level: 'warning',
      component: 'api',
      msg: expect.stringContaining('log file'),
      error_message: expect.stringContaining('ENOENT'),
    }
    expect(run(body)).toMatchObject({ status: 0, stderr: [failure], lines: [{ msg: 'kept' }] })
  })

  it('that cannot be written does not keep the logger from closing', () => {
    const body = `
      rmSync(folder, { recursive: true })
      log.info('lost')
      await log.close()
      mkdirSync(folder)
      createLogger({ level: 'info', component: 'api', file: ${JSON.stringify(file)} }).info('closed')`
    expect(run(body)).toMatchObject({ status: 0, lines: [{ msg: 'closed' }] })
  })
})

describe('the log of a process', () => {
  const run = (body: string) => {
    const program = `
      import { createProcessLog } from '${import.meta.resolve('../dist/process-log.js')}'
      createProcessLog('api')
      ${body}`
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
    })
    const lines = child.stderr.trim().split('\n')
    return {
      status: child.status,
      stdout: child.stdout,
      lines: lines.map((line) => JSON.parse(line) as unknown),
    }
  }

  it.each([
    [
      `console.warn('IMPORTANT! %s\\nand more', 'policy')`,
      0,
      { level: 'warning', text: 'IMPORTANT! policy\nand more' },
    ],
    [`console.error(new Error('oh'))`, 0, { level: 'error', text: expect.stringContaining('Error: oh\n') }],
    [`console.log({ a: 1 })`, 0, { level: 'info', text: '{ a: 1 }' }],
    [
      `process.emitWarning('old', 'DeprecationWarning', 'DEP0000')`,
      0,
      { level: 'warning', warning: { name: 'DeprecationWarning', message: 'old' } },
    ],
    [
      `setImmediate(() => { throw new Error('oh') })`,
      1,
      { level: 'fatal', error: { message: 'oh' }, origin: 'uncaughtException' },
    ],
    [
      `Promise.reject(new Error('oh'))`,
      1,
      { level: 'fatal', error: { message: 'oh' }, origin: 'unhandledRejection' },
    ],
    [`Promise.reject('text')`, 1, { level: 'fatal' }],
  ])('turns %s into one line of JSON', (body, status, line) => {
    expect(run(body)).toMatchObject({ status, stdout: '', lines: [{ component: 'api', ...line }] })
  })
})

describe('redact', () => {
  it.each([
    'password',
    'newPassword',
    'client_secret',
    'access_token',
    'refreshToken',
    'token',
    'token_hash',
    'Authorization',
    'cookie',
    'code',
    'code_verifier',
    'otp',
    'nonce',
    'csrf',
  ])('hides the member %s', (key) => {
    expect(redact({ [key]: 'value' })).toEqual({ [key]: '[redacted]' })
  })

  it.each(['status_code', 'error_code', 'grant_type', 'token_type', 'path', 'country_code'])(
    'keeps the member %s',
    (key) => {
      expect(redact({ [key]: 'value' })).toEqual({ [key]: 'value' })
    },
  )

  it.each([
    ['sent whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8', 'sent [redacted]'],
    ['sent whsec_+/9+/9+/9+/9+/9+/9+/9+/9+/9+/9+/9+/9+/9+/9A= twice', 'sent [redacted] twice'],
    ['Bearer abcdefghijklmnop', '[redacted]'],
    ['postgres://app:hunter2@db/x', 'postgres://app:[redacted]@db/x'],
    ['from redis://:hunt@er:2@db:6379 to a@b', 'from redis://:[redacted]@db:6379 to a@b'],
    ['postgres://app:h@unter2@db/x?to=a@b', 'postgres://app:[redacted]@db/x?to=a@b'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[redacted]'],
    ['eyJhbGciOiJIUzI1NiJ9', '[redacted]'],
    ['token sva_0123456789abcdef refused', 'token [redacted] refused'],
  ])('cuts secrets out of %p', (input, expected) => {
    expect(redact({ note: input })).toEqual({ note: expected })
  })

  it('prints errors with their cause, and survives cycles', () => {
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    expect(redact(loop)).toBeDefined()
    expect(redact(new Error('outer', { cause: new Error('inner') }))).toMatchObject({
      message: 'outer',
      cause: { message: 'inner' },
    })
  })
})

describe('request ids', () => {
  it('inherits a harmless id and replaces any other', () => {
    expect(pickRequestId('abc-123')).toBe('abc-123')
    expect(pickRequestId('a b\n')).toMatch(/^[0-9a-f-]{36}$/)
    expect(pickRequestId(undefined)).toMatch(/^[0-9a-f-]{36}$/)
  })
})

it('keeps registries apart', async () => {
  expect(createRegistry({ runtime: false })).not.toBe(createRegistry({ runtime: false }))
  expect(await createRegistry({ runtime: false }).metrics()).toBe('\n')
})

it('a logger that was closed stays silent instead of failing', async () => {
  const lines: string[] = []
  const log = createLogger({ level: 'info', component: 'test', sink: (line) => lines.push(line) })
  log.info('before')
  await log.close()
  log.info('after')
  expect(lines).toHaveLength(1)
})
