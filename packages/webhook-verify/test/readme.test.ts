import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@signet/testkit'
import pg from 'pg'
import { sign, type EventStore } from '../src/index.js'
import { describeEventStore } from './event-store-conformance.js'
import { vectors } from './vectors.js'

// Runs the programs of the README exactly as printed there, with the built package and the servers they import.

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
const { secret } = vectors
const [, { body }] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
const PRINTED = 'summary.completed evt_5d41402abc4b2a76b9719d911017c592'

const require = createRequire(import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'webhook-verify-readme-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// Makes a program print its port, which the system chooses because of `PORT=0`.
const REPORT_PORT = `
import { Server } from 'node:net'
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.once('listening', () => console.log('port', this.address().port))
  return listen.apply(this, args)
}
`

const programs = [...readme.matchAll(/```js\n\/\/ (\S+\.mjs)\n([^]*?)```/g)].map(
  ([, name = '', text = '']) => ({ name, text }),
)

beforeAll(() => {
  const link = (name: string, target: string) => {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
    symlinkSync(target, join(folder, 'node_modules', name))
  }
  link('@signet/webhook-verify', PACKAGE)
  for (const name of ['express', 'fastify']) link(name, dirname(require.resolve(`${name}/package.json`)))
  // Deno looks in node_modules only for packages that a package.json names.
  const dependencies = { '@signet/webhook-verify': '*' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
  writeFileSync(join(folder, 'report-port.mjs'), REPORT_PORT)
  for (const { name, text } of programs) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
})

const env = {
  PATH: process.env['PATH'],
  HOME: folder,
  SIGNET_WEBHOOK_SECRET: secret,
  PORT: '0',
  NO_COLOR: '1',
}

/** Starts a program that listens; `port` finds its port in a line that it prints. */
async function start(command: string, args: readonly string[], port: RegExp) {
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const printed: string[] = []
  const found = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        printed.push(line)
        const [, number] = port.exec(line) ?? []
        if (number !== undefined) resolve(number)
      })
    }
    child.once('close', () => reject(new Error(`it ended: ${printed.join('\n')}`)))
    child.once('error', reject)
  })
  const url = `http://127.0.0.1:${await found}/hook`
  const close = async () => {
    const closed = once(child, 'close')
    child.kill()
    await closed
    return printed.filter((line) => line === PRINTED).length
  }
  return { url, close }
}

const deliver = async (url: string, headers: Record<string, string>, text: string) =>
  (await fetch(url, { method: 'POST', headers, body: text })).status

/** Delivers an event and a forgery with each family of headers, and returns how often the program printed the event. */
async function drive(receiver: { url: string; close: () => Promise<number> }): Promise<number> {
  const headers = Object.entries(sign(body, secret))
  const statuses: number[] = []
  for (const family of [/^X-Service/, /^webhook/]) {
    const signed = Object.fromEntries(headers.filter(([name]) => family.test(name)))
    for (const text of [body, '{}']) statuses.push(await deliver(receiver.url, signed, text))
  }
  const written = await receiver.close()
  expect(statuses).toEqual([204, 400, 204, 400])
  return written
}

describe('the programs of the README', () => {
  it('are all run here', () => {
    expect(programs.map(({ name }) => name)).toEqual([
      'express.mjs',
      'fastify.mjs',
      'app/hook/route.mjs',
      'node.mjs',
      'fetch.mjs',
      'once.mjs',
      'event-store.mjs',
      'receiver.test.mjs',
    ])
  })

  it.each([
    ['express.mjs', 2],
    ['fastify.mjs', 2],
    ['node.mjs', 2],
    ['once.mjs', 1],
  ])('%s takes deliveries, and writes an event that came twice %d times', async (name, times) => {
    const args = ['--import', './report-port.mjs', name]
    expect(await drive(await start(process.execPath, args, /^port (\d+)$/))).toBe(times)
  })

  it('receiver.test.mjs tests app/hook/route.mjs', async () => {
    const child = spawn(process.execPath, ['--test', '--test-reporter=tap', 'receiver.test.mjs'], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: string[] = []
    createInterface(child.stdout).on('line', (line) => lines.push(line))
    expect(await once(child, 'close')).toEqual([0, null])
    expect(lines).toEqual(expect.arrayContaining(['# pass 2', '# fail 0']))
  })

  it('fetch.mjs is a server of requests and responses', async () => {
    const printed: string[] = []
    // A separate process, because the program reads the secret from its environment.
    const script = `
      import server from './fetch.mjs'
      const { headers, body } = JSON.parse(process.argv[1])
      const ask = (path, body) => server.fetch(new Request('https://example.com' + path, { method: 'POST', headers, body }))
      for (const answer of await Promise.all([ask('/hook', body), ask('/hook', '{}'), ask('/other', body)]))
        console.log(answer.status)
    `
    const args = ['--input-type=module', '-e', script, JSON.stringify({ headers: sign(body, secret), body })]
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface(child.stdout).on('line', (line) => printed.push(line))
    await once(child, 'close')
    expect(printed).toEqual([PRINTED, '204', '400', '404'])
  })
})

describe('fetch.mjs in', () => {
  const runtimes: [string, string[], RegExp][] = [
    [
      'deno',
      ['serve', '--port', '0', '--host', '127.0.0.1', '--allow-env', 'fetch.mjs'],
      /127\.0\.0\.1:(\d+)/,
    ],
    ['bun', ['fetch.mjs'], /(?:localhost|127\.0\.0\.1):(\d+)/],
  ]
  for (const [name, args, port] of runtimes) {
    const test = present(name) ? it : it.skip
    test(`${name} takes deliveries`, async () => {
      expect(await drive(await start(name, args, port))).toBe(2)
    })
  }
})

describe('event-store.mjs', () => {
  let database: TestDatabase
  let pool: pg.Pool
  let store: EventStore

  beforeAll(async () => {
    const [, table = ''] = /```sql\n([^]*?)```/.exec(readme) ?? []
    database = await createTestDatabase({
      key: `webhook-verify:${table}`,
      migrate: async (url) => {
        const client = new pg.Client({ connectionString: url })
        await client.connect()
        await client.query(table)
        await client.end()
      },
    })
    pool = new pg.Pool({ connectionString: database.url })
    const module = (await import(pathToFileURL(join(folder, 'event-store.mjs')).href)) as {
      postgresEventStore: (pool: pg.Pool) => EventStore
    }
    store = module.postgresEventStore(pool)
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  describeEventStore('the store on PostgreSQL', {
    store: () => store,
    expire: async () => {
      await pool.query(`update received_event set claimed_until = now() - interval '1 second'`)
    },
  })
})

function present(command: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(':')
  return folders.some((one) => {
    try {
      return readFileSync(join(one, command)).length > 0
    } catch {
      return false
    }
  })
}
