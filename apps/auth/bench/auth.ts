// `npm run bench -- auth [part …]`: the identity server against what its parts can do at best, in the same run. One JSON
// line per case. Parts: signing, sign-in, refresh, user, busy, latency, memory, growth; all of them by default. Options:
// rounds=5, seconds=<of each measurement>, warm-up=60 (seconds), users=1000000 (of growth). With `--beside <folder>` refreshes
// are also compared with a checkout of another version there, packages installed and compiled.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import {
  atLeast,
  atMost,
  compare,
  inTurns,
  measure,
  middle,
  option,
  reporter,
  wants,
  type Goal,
  type Measured,
  type Shoot,
} from '@signet/testkit/bench'
import { startRawHashing } from './hashing.js'
import { HttpClient } from './http-client.js'
import { benchRefresh, refresh, refreshTokenIn } from './refresh.js'
import { adminToken, emailOf, PASSWORD, refreshTokenOf, seedDatabase } from './seed.js'
import { startService, type Running } from './servers.js'
import { benchSigning } from './signing.js'
import { benchUser, getUser, someTokens } from './user.js'

const FEW = 1000
const MANY = Number(option('users') ?? 1_000_000)
const SECONDS = 3
const CONCURRENCY = 16
/** There are only a few sign-ins per second. Without warming up, half of a measurement would run code that V8 has not optimized yet. */
const WARM_UP_SECONDS = Number(option('warm-up') ?? 60)
const CORES = availableParallelism()
const report = reporter('auth', { failsOnMiss: true })

const adminUrl = process.env['DATABASE_URL'] ?? ''
if (adminUrl === '') throw new Error('DATABASE_URL is needed: npm run bench -- auth')

const anyOf = (count: number): number => 1 + Math.floor(Math.random() * count)

const signIn =
  (client: HttpClient, users: number): Shoot =>
  async () => {
    const body = { email: emailOf(anyOf(users)), password: PASSWORD }
    await client.ask({ method: 'POST', path: '/token?grant_type=password', body })
  }

async function benchSignIn(service: Running): Promise<void> {
  const raw = await startRawHashing()
  const client = new HttpClient(service.base)
  const shoot = signIn(client, FEW)
  await measure(shoot, { concurrency: 2 * CORES, seconds: WARM_UP_SECONDS })
  const asMeasured = (perSecond: number): Measured => ({ requests: NaN, perSecond, p50Ms: NaN, p99Ms: NaN })
  const [ours, theirs] = await compare(
    // Twice as many as threads, so that no thread waits for the next request.
    () => measure(shoot, { concurrency: 2 * CORES, seconds: 2 * SECONDS }),
    async () => asMeasured(await raw.measure(2 * SECONDS)),
  )
  report({
    case: 'password sign-in',
    value: ours.perSecond,
    unit: 'sign-ins/s',
    ...atLeast(ours.perSecond / theirs.perSecond, 0.96),
  })
  await raw.stop()
  client.close()
}

/** While every hashing thread is busy and more sign-ins wait, other requests keep their latency. */
async function benchBusy(service: Running): Promise<void> {
  const [client, other] = [new HttpClient(service.base), new HttpClient(service.base)]
  const read = () => measure(getUser(client, someTokens()), { concurrency: 2, seconds: SECONDS })
  const [idle, busy] = await compare(read, async () => {
    let stopped = false
    const shoot = signIn(other, FEW)
    const hashing = Promise.all(
      Array.from({ length: 4 * CORES }, async () => {
        while (!stopped) await shoot(0)
      }),
    )
    const measured = await read()
    stopped = true
    await hashing
    return measured
  })
  const name = (of: string) => `GET /user, ${of} while all hashing threads are busy`
  report({ case: name('p50'), value: busy.p50Ms, unit: 'ms', ...atMost(busy.p50Ms / idle.p50Ms, 3) })
  report({ case: name('p99'), value: busy.p99Ms, unit: 'ms', ...atMost(busy.p99Ms, 20) })
  client.close()
  other.close()
}

async function benchLatency(service: Running): Promise<void> {
  const client = new HttpClient(service.base)
  const pace = { concurrency: 64, seconds: SECONDS }
  const loads = { 'GET /user': getUser(client, someTokens()), refresh: refresh(client, 600) }
  for (const [name, shoot] of Object.entries(loads)) {
    const [measured = []] = await inTurns([() => measure(shoot, pace)])
    const { p50Ms, p99Ms } = middle(measured)
    report({ case: `${name}, p50 at 64 connections`, value: p50Ms, unit: 'ms' })
    report({ case: `${name}, p99 at 64 connections`, value: p99Ms, unit: 'ms', ...atMost(p99Ms / p50Ms, 5) })
  }
  client.close()
}

async function benchMemory(service: Running): Promise<void> {
  const client = new HttpClient(service.base)
  const shoots = [getUser(client, someTokens()), refresh(client, 400)]
  const shootAll = (count: number) =>
    Promise.all(
      Array.from({ length: CONCURRENCY }, async (_, worker) => {
        for (let sent = 0; sent < count / CONCURRENCY; sent += 1)
          await shoots[sent % 4 === 0 ? 1 : 0]?.(worker)
      }),
    )
  await shootAll(30_000)
  const before = service.memory()
  await shootAll(70_000)
  const memory = (name: string, goal: (value: number) => Goal) => {
    const value = service.memory()
    report({ case: name, value, unit: 'MiB', ...goal(value) })
  }
  memory('memory after 100,000 requests', (value) => atMost(value, 150))
  await shootAll(30_000)
  memory('memory after 30,000 more', (value) => atMost(value / before, 1.15))
  client.close()
}

async function benchGrowth(few: Running, many: Running): Promise<void> {
  const [small, large] = [new HttpClient(few.base), new HttpClient(many.base)]
  const list = (client: HttpClient): Shoot => {
    const token = adminToken()
    return async () =>
      void (await client.ask({ method: 'GET', path: '/admin/users?page=1&per_page=50', token }))
  }
  const cases: [string, (client: HttpClient, users: number) => Shoot][] = [
    ['sign-in', signIn],
    ['refresh', (client, users) => refreshAnywhere(client, users)],
    ['admin list', list],
  ]
  for (const [name, shoot] of cases) {
    // Fewer at a time than the machine can handle, so that this measures latency and not queueing.
    const pace = { concurrency: name === 'sign-in' ? 1 : 2, seconds: SECONDS }
    const shoots = [shoot(small, FEW), shoot(large, MANY)] as const
    const [atFew, atMany] = await compare(
      () => measure(shoots[0], pace),
      () => measure(shoots[1], pace),
    )
    report({ case: `${name}, p99 at 1,000 users`, value: atFew.p99Ms, unit: 'ms' })
    report({
      case: `${name}, p99 at ${MANY.toLocaleString('en')} users`,
      value: atMany.p99Ms,
      unit: 'ms',
      ...atMost(atMany.p99Ms / atFew.p99Ms, 1.3),
    })
  }
  small.close()
  large.close()
}

/** Uses sessions from all over the table, so that it does not read the same few pages every time. */
function refreshAnywhere(client: HttpClient, users: number): Shoot {
  const current = new Map<number, string>()
  // Higher numbers than those that the other parts use.
  const first = 500
  const step = Math.max(1, Math.floor((users - first) / 480))
  return async () => {
    const n = first + step * Math.floor(Math.random() * 480)
    const before = current.get(n)
    if (before === '') return
    current.set(n, '')
    const body = { refresh_token: before ?? refreshTokenOf(n) }
    current.set(
      n,
      refreshTokenIn(await client.ask({ method: 'POST', path: '/token?grant_type=refresh_token', body })),
    )
  }
}

const { values } = parseArgs({ options: { beside: { type: 'string' } }, allowPositionals: true })

if (wants('signing')) await benchSigning()
if (['sign-in', 'refresh', 'user', 'busy', 'latency', 'memory', 'growth'].some(wants)) {
  const fewUrl = await seedDatabase(adminUrl, 'bench_few', FEW)
  const service = await startService(fewUrl)
  if (wants('user')) await benchUser(service, fewUrl, FEW)
  if (wants('refresh'))
    await benchRefresh({ adminUrl, databaseUrl: fewUrl, users: FEW, beside: values.beside })
  if (wants('sign-in')) await benchSignIn(service)
  if (wants('busy')) await benchBusy(service)
  if (wants('latency')) await benchLatency(service)
  if (wants('memory')) await benchMemory(service)
  if (wants('growth')) {
    const many = await startService(await seedDatabase(adminUrl, 'bench_many', MANY))
    await benchGrowth(service, many)
    await many.stop()
  }
  await service.stop()
}
