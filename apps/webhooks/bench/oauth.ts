// `npm run bench -- oauth [part …]`: token endpoint and Bearer authentication against bare Express routes with the same
// statements, and Bearer authentication at 10 and at a million live tokens. One JSON line per case. Parts: issue,
// refresh, v1, growth; all of them by default. Options: rounds=5, seconds=<of each measurement>, tokens=1000000 (of growth).
import { Db } from '@signet/db'
import { atLeast, atMost, compare, option, reporter, wants, type Measured } from '@signet/testkit/bench'
import type { Pool } from 'undici'
import { measure, type Shoot } from './load.js'
import {
  codeForm,
  numbered,
  prepareDatabase,
  refreshForm,
  seedAccessTokens,
  seedClient,
  seedCodes,
  seedRefreshTokens,
} from './seed.js'
import { startServer, type Running } from './server.js'

const SECONDS = 3
const CONCURRENCY = 16
const FEW = 10
const MANY = Number(option('tokens') ?? 1_000_000)
const CODES_PER_ROUND = 20_000
const RATIO_GOAL = 0.7
const P99_GOAL = 1.3

const adminUrl = process.env['DATABASE_URL'] ?? ''
if (adminUrl === '' || !process.env['REDIS_URL'])
  throw new Error('DATABASE_URL and REDIS_URL are needed: npm run bench -- oauth')

const report = reporter('oauth', { failsOnMiss: true })

const form = { 'content-type': 'application/x-www-form-urlencoded' }

async function post(pool: Pool, body: string): Promise<{ refresh_token: string }> {
  const { statusCode, body: answer } = await pool.request({
    method: 'POST',
    path: '/oauth/token',
    headers: form,
    body,
  })
  if (statusCode !== 200) throw new Error(`the token endpoint answered ${statusCode}: ${await answer.text()}`)
  return (await answer.json()) as { refresh_token: string }
}

/** Sends an authenticated `GET /v1/webhooks` with any of `count` tokens. */
const authenticated =
  (count: number): Shoot =>
  async (pool) => {
    const token = numbered('sva_', Math.floor(Math.random() * count))
    const headers = { authorization: `Bearer ${token}` }
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/v1/webhooks', headers })
    await body.dump()
    if (statusCode !== 200) throw new Error(`/v1 answered ${statusCode}`)
  }

/** The service and its bare counterpart, measured in turns. */
type Rivals = { service: Running; bare: Running }
type BareCase = {
  part: string
  name: string
  run(rivals: Rivals, db: Db): Promise<readonly [Measured, Measured]>
}

const pace = { concurrency: CONCURRENCY, seconds: SECONDS }

const bareCases: BareCase[] = [
  {
    part: 'issue',
    name: 'token issue',
    run({ service, bare }, db) {
      let nextCode = 0
      const exchange = async (base: string) => {
        let number = nextCode
        nextCode += CODES_PER_ROUND
        await seedCodes(db, number, nextCode - 1)
        return measure(base, async (pool) => void (await post(pool, codeForm(number++))), pace)
      }
      return compare(
        () => exchange(service.base),
        () => exchange(bare.base),
      )
    },
  },
  {
    part: 'refresh',
    name: 'refresh',
    async run({ service, bare }, db) {
      await seedRefreshTokens(db, 2 * CONCURRENCY)
      const refresher = (base: string, offset: number) => {
        const tokens = Array.from({ length: CONCURRENCY }, (_, worker) => numbered('svr_', offset + worker))
        const shoot: Shoot = async (pool, worker) => {
          tokens[worker] = (await post(pool, refreshForm(tokens[worker] ?? ''))).refresh_token
        }
        return () => measure(base, shoot, pace)
      }
      return compare(refresher(service.base, 0), refresher(bare.base, CONCURRENCY))
    },
  },
  {
    part: 'v1',
    name: 'authenticated /v1',
    run({ service, bare }) {
      const read = (base: string) => () => measure(base, authenticated(FEW), pace)
      return compare(read(service.base), read(bare.base))
    },
  },
]

async function benchAgainstBare(cases: readonly BareCase[], databaseUrl: string): Promise<void> {
  const db = new Db({ connectionString: databaseUrl, max: 1 })
  const rivals = {
    service: await startServer('../src/main.ts', databaseUrl),
    bare: await startServer('./bare-server.ts', databaseUrl),
  }
  for (const { name, ...bareCase } of cases) {
    const [ours, theirs] = await bareCase.run(rivals, db)
    const ratio = ours.perSecond / theirs.perSecond
    report({ case: name, value: ours.perSecond, unit: 'requests/s', ...atLeast(ratio, RATIO_GOAL) })
  }
  await Promise.all([rivals.service.stop(), rivals.bare.stop()])
  await db.close()
}

async function benchAtScale(fewUrl: string, manyUrl: string): Promise<void> {
  const few = await startServer('../src/main.ts', fewUrl)
  const many = await startServer('../src/main.ts', manyUrl)
  // Fewer requests at a time than the machine can handle, to measure latency rather than queueing.
  const calm = { concurrency: 4, seconds: SECONDS }
  const [small, large] = await compare(
    () => measure(few.base, authenticated(FEW), calm),
    () => measure(many.base, authenticated(MANY), calm),
  )
  report({ case: `p99 of /v1 at ${FEW} live tokens`, value: small.p99Ms, unit: 'ms' })
  report({
    case: `p99 of /v1 at ${MANY.toLocaleString('en')} live tokens`,
    value: large.p99Ms,
    unit: 'ms',
    ...atMost(large.p99Ms / small.p99Ms, P99_GOAL),
  })
  await Promise.all([few.stop(), many.stop()])
}

/** Creates a database with `tokens` live access tokens. */
async function seededDatabase(name: string, tokens: number): Promise<string> {
  const admin = new Db({ connectionString: adminUrl, max: 1 })
  const url = await prepareDatabase(admin, adminUrl, name)
  await admin.close()
  const db = new Db({ connectionString: url, max: 1 })
  await seedClient(db)
  process.stderr.write(`seeding ${tokens} live tokens …\n`)
  await seedAccessTokens(db, tokens)
  await db.close()
  return url
}

const few = await seededDatabase('bench_few', FEW)
if (wants('growth')) await benchAtScale(few, await seededDatabase('bench_many', MANY))
const againstBare = bareCases.filter(({ part }) => wants(part))
if (againstBare.length > 0) await benchAgainstBare(againstBare, few)
