import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pageOf } from '../src/index.js'
import type { Results } from '../src/results.js'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-bench-page-'))
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Another product, as a user describes it in a module: it delivers each event at once, unsigned. */
const PEER = `
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
export const name = 'straight through'
export const settings = 'one process, no database, no retries'
export const pids = { gateway: process.pid }
export async function subscribe({ urls, caFile }) {
  const agent = new Agent({ ca: readFileSync(caFile), keepAlive: true })
  const post = (url, body) =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', agent }, (answer) => answer.resume().once('end', resolve))
      sent.once('error', reject).end(body)
    })
  const server = createServer(async (incoming, answer) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    answer.writeHead(202).end()
    for (const url of urls) await post(url, body)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  server.unref()
  return { port: server.address().port }
}
export const publish = ({ port }, { id, text }) => ({
  url: 'http://127.0.0.1:' + port + '/',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ id, text }),
})
`

describe('npm run bench', () => {
  it('measures the whole way and the identity server beside a peer, and writes page and plots', async () => {
    const peer = join(folder, 'peer.mjs')
    writeFileSync(peer, PEER)
    const args = ['infra/bench/bench.mjs', 'quick', `out=${folder}`, `peer=${peer}`]
    await promisify(execFile)(process.execPath, args, {
      cwd: repository,
      env: { ...process.env, DATABASE_URL: undefined, REDIS_URL: undefined },
    })
    const { machine, measured, settings } = JSON.parse(
      readFileSync(join(folder, 'measured.json'), 'utf8'),
    ) as Results
    expect(Object.keys(machine)).toEqual(
      expect.arrayContaining(['Processor', 'Memory', 'PostgreSQL', 'Redis', 'Commit', 'Date']),
    )
    const burst = measured.filter((one) => one.case === 'burst 2 KiB')
    expect(burst.map(({ who }) => who)).toEqual(['signet', 'raw limit', 'straight through'])
    for (const { value, others } of burst) {
      expect(value).toBeGreaterThan(0)
      expect(others['p99Ms']).toBeGreaterThanOrEqual(others['p50Ms'] ?? NaN)
    }
    expect(Object.keys(burst[0]?.others ?? {})).toEqual(
      expect.arrayContaining([
        'cpuUs of webhooks',
        'cpuUs of dispatcher',
        'cpuUs of redis',
        'cpuUs of postgres',
      ]),
    )
    expect(settings).toEqual([{ who: 'straight through', settings: 'one process, no database, no retries' }])
    const requests = measured.filter(({ bench, who }) => bench === 'common' && who === 'signet')
    expect(requests.map((one) => one.case)).toEqual(['GET /user', 'refresh', 'password sign-in'])
    const page = readFileSync(join(folder, 'measured.md'), 'utf8')
    expect(page).toMatch(/\| burst 2 KiB +\| straight through \|/)
    expect(readdirSync(join(folder, 'images')).sort()).toEqual([
      'bench-cpu.svg',
      'bench-deliveries.svg',
      'bench-identity.svg',
    ])
  }, 3_600_000)
})

describe('npm run bench -- --help', () => {
  const help = (...words: string[]) =>
    spawnSync(process.execPath, ['infra/bench/bench.mjs', ...words, '--help'], {
      cwd: repository,
      encoding: 'utf8',
    })

  it('names the benches', () => {
    expect(help()).toMatchObject({ status: 0, stdout: expect.stringContaining('pipeline') })
  })

  it.each([
    ['auth', 'growth'],
    ['oauth', 'growth'],
    ['common', 'accounts=500'],
    ['paging', 'rows='],
    ['dispatch', 'only=', '2 KiB, 10 endpoints'],
    ['pipeline', 'only=', '1 event to 50 endpoints'],
    ['soak', 'minutes=30'],
    ['chaos', 'only='],
  ])('explains the parts and options of %s, and measures nothing', (name, ...words) => {
    const { status, stdout, stderr } = help(name)
    expect([status, stderr]).toEqual([0, ''])
    for (const word of words) expect(stdout).toContain(word)
    expect(stdout).not.toContain('"value"')
  })
})

describe('the page in the repository', () => {
  it('is what its results say', () => {
    const site = join(repository, 'infra/site')
    const results = JSON.parse(readFileSync(join(site, 'measured.json'), 'utf8')) as Results
    // The formatter decides how wide the columns of tables are.
    const words = (text: string) => text.replaceAll(/[ -]+/g, ' ')
    for (const [file, content] of Object.entries(pageOf(results)))
      expect(words(readFileSync(join(site, file), 'utf8'))).toBe(words(content))
  })
})

describe('a plot', () => {
  it('is an image that loads nothing and runs nothing', () => {
    const hostile = {
      who: '<script>alert(1)</script>',
      case: 'a & b',
      bench: 'common',
      value: 12,
      others: {},
    }
    const results: Results = {
      ...{ machine: {}, wasBusy: false, rounds: 1, scale: 1, settings: [] },
      measured: [{ ...hostile, bench: 'common' }],
    }
    const svg = pageOf(results)['images/bench-identity.svg'] ?? ''
    expect(svg).toContain('&lt;script>')
    expect(svg).not.toMatch(/<script|href|url\(|@import/)
    expect(svg).toContain('prefers-color-scheme:dark')
  })
})
