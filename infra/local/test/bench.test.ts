import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pageOf } from '../src/bench/index.js'
import type { Results } from '../src/bench/results.js'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-bench-page-'))
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Delivers what it is given at once, signed by nobody: another product, as a user's module describes one. */
const PEER = `
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
export const name = 'straight through'
export const settings = 'one process, no database, no retries'
export const pids = { gateway: process.pid }
export async function subscribe({ urls, caFile }) {
  const dispatcher = new Agent({ connect: { ca: readFileSync(caFile) } })
  const server = createServer(async (incoming, answer) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    answer.writeHead(202).end()
    for (const url of urls) {
      const sent = await request(url, { method: 'POST', body, dispatcher })
      await sent.body.dump()
    }
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
    // Where a module of a user's own finds its libraries.
    const peer = join(repository, 'infra/local/dist', `peer-${process.pid}.mjs`)
    writeFileSync(peer, PEER)
    const args = ['infra/local/bench.mjs', 'quick', `out=${folder}`, `peer=${peer}`]
    try {
      await promisify(execFile)(process.execPath, args, {
        cwd: repository,
        env: { ...process.env, DATABASE_URL: undefined, REDIS_URL: undefined },
      })
    } finally {
      rmSync(peer)
    }
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
  }, 900_000)
})

describe('the page in the repository', () => {
  it('is what its results say', () => {
    const site = join(repository, 'infra/site')
    const results = JSON.parse(readFileSync(join(site, 'measured.json'), 'utf8')) as Results
    // Widths of tables are the formatter's.
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
