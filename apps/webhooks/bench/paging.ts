// `npm run bench -- paging`: compares `GET /v1/webhooks/{id}/deliveries` for an endpoint with 2,000,000 of the 10,000,000
// deliveries in its database to a log of 1,000 deliveries that are alone in their database. Prints one JSON line per case.
// Options: rounds=5, seconds=<of each measurement>, rows=10000000 (deliveries in all).
import { Db } from '@signet/db'
import { atMost, compare, median, option, reporter } from '@signet/testkit/bench'
import { Pool } from 'undici'
import { measure, type Shoot } from './load.js'
import { seedManyLogs, seedOneLog, type Log } from './log-seed.js'
import { numbered, prepareDatabase, seedAccessTokens, seedClient } from './seed.js'
import { startServer, type Running } from './server.js'

const FEW = 1000
const MANY = Number(option('rows') ?? 10_000_000)
const PAGE_SIZE = 20
/** Fewer requests at a time than the machine can handle, to measure latency rather than queueing. */
const PACE = { concurrency: 4, seconds: 1.5 }
const STARTS = 5
const FIRST_JUMP_MS = 1000
const report = reporter('paging', { failsOnMiss: true })

const adminUrl = process.env['DATABASE_URL'] ?? ''
if (adminUrl === '' || !process.env['REDIS_URL'])
  throw new Error('DATABASE_URL and REDIS_URL are needed: npm run bench -- paging')

/** A log behind a running service. */
type Subject = { service: Running; log: Log }

const count = ({ rows }: Log): string => rows.toLocaleString('en')

/** Requests the page that `number` names, and checks how many deliveries it has. */
const page =
  ({ endpointId, rows }: Log, number: (pages: number) => number): Shoot =>
  async (pool) => {
    const wanted = number(Math.ceil(rows / PAGE_SIZE))
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: `/v1/webhooks/${endpointId}/deliveries?page=${wanted}&page_size=${PAGE_SIZE}`,
      headers: { authorization: `Bearer ${numbered('sva_', 0)}` },
    })
    const { items } = (await body.json()) as { items?: unknown[] }
    const expected = Math.max(0, Math.min(PAGE_SIZE, rows - (wanted - 1) * PAGE_SIZE))
    if (statusCode !== 200 || items?.length !== expected)
      throw new Error(`page ${wanted}: ${statusCode} with ${items?.length} of ${expected} deliveries`)
  }

type Case = { name: string; number: (pages: number) => number; goal: number }

const cases = [
  { name: 'page 1', number: () => 1, goal: 1.3 },
  { name: 'page 2', number: () => 2, goal: 1.3 },
  { name: 'any page', number: (pages) => 1 + Math.floor(Math.random() * pages), goal: 2 },
  { name: 'last page', number: (pages) => pages, goal: 2 },
  { name: 'page 999,999', number: () => 999_999, goal: 1.3 },
] as const satisfies Case[]

async function benchPages(where: string, few: Subject, many: Subject, cases: readonly Case[]): Promise<void> {
  const read = ({ service, log }: Subject, number: Case['number']) =>
    measure(service.base, page(log, number), PACE)
  for (const { name, number, goal } of cases) {
    const [small, large] = await compare(
      () => read(few, number),
      () => read(many, number),
    )
    for (const of of ['p50', 'p99'] as const) {
      const value = large[`${of}Ms`]
      const met = atMost(value / small[`${of}Ms`], goal)
      report({ case: `${name} of ${where}, ${of}`, value, unit: 'ms', ...met })
    }
  }
}

async function prepare<T>(name: string, seed: (db: Db) => Promise<T>): Promise<{ url: string; logs: T }> {
  const admin = new Db({ connectionString: adminUrl, max: 1 })
  const url = await prepareDatabase(admin, adminUrl, name)
  await admin.close()
  const db = new Db({ connectionString: url, max: 1 })
  await seedClient(db)
  await seedAccessTokens(db, 1)
  const logs = await seed(db)
  await db.close()
  return { url, logs }
}

const startedAt = performance.now()
const alone = await prepare('bench_log_few', (db) => seedOneLog(db, FEW))
const among = await prepare('bench_log_many', (db) => seedManyLogs(db, MANY))
process.stderr.write(`filled in ${Math.round((performance.now() - startedAt) / 1000)} s\n`)

/** How long a new process takes for the last page: it knows no marks yet, and walks the whole log. */
async function firstJump(url: string, log: Log): Promise<number> {
  const times: number[] = []
  for (let start = 0; start < STARTS; start += 1) {
    const service = await startServer('../src/main.ts', url)
    const pool = new Pool(service.base)
    await page(log, () => 1)(pool, 0)
    const sentAt = performance.now()
    await page(log, (pages) => pages)(pool, 0)
    times.push(performance.now() - sentAt)
    await pool.close()
    await service.stop()
  }
  return median(times)
}

const shallow = await firstJump(alone.url, alone.logs)
const deep = await firstJump(among.url, among.logs.largest)
report({
  case: `first jump to the last page of ${count(among.logs.largest)}`,
  value: deep,
  unit: 'ms',
  ratio: deep / shallow,
  goal: `<= ${FIRST_JUMP_MS} ms`,
  ok: deep <= FIRST_JUMP_MS,
})

const few = { service: await startServer('../src/main.ts', alone.url), log: alone.logs }
const many = await startServer('../src/main.ts', among.url)
await benchPages(count(among.logs.largest), few, { service: many, log: among.logs.largest }, cases)
await benchPages('an ordinary log', few, { service: many, log: among.logs.ordinary }, [cases[0], cases[2]])
await Promise.all([few.service.stop(), many.stop()])
