// `npm run bench -- common [rounds=3] [seconds=3] [accounts=500] [peer=<name>=<url>[,<pid>]]`: the requests that a server of
// the Supabase API answers most, over its API alone, so that another such server can be measured beside ours; and what Node
// and the processor can do at best. One JSON line per result.
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Db } from '@signet/db'
import { familyCpuMsOf } from '@signet/testkit'
import {
  inTurns,
  measure,
  median,
  option,
  postmasterOf,
  reporter,
  rounded,
  type Shoot,
} from '@signet/testkit/bench'
import { Agent, request } from 'undici'
import { startRawHashing } from './hashing.js'
import { emailOf, PASSWORD, seedDatabase, sessionIdOf, userIdOf } from './seed.js'
import { startBareHttp, startService } from './servers.js'
import { newKeys } from './signing.js'

type Contender = {
  name: string
  base: string
  /** CPU time of its servers so far in ms, by their names, where it is known. */
  spent?: () => Readonly<Record<string, number>>
  /** Its accounts are created over its API. */
  isPeer?: boolean
  stop: () => Promise<void>
}
type Session = { access_token: string; refresh_token: string }
type Run = { perSecond: number; p50Ms?: number; p99Ms?: number; cpuUsOf?: Readonly<Record<string, number>> }

const [rounds, seconds, accounts] = [
  Number(option('rounds') ?? 3),
  Number(option('seconds') ?? 3),
  Number(option('accounts') ?? 500),
]
const CONCURRENCY = 16
const report = reporter('common')
const RAW = 'raw limit'
const CASES = {
  user: { name: 'GET /user', concurrency: CONCURRENCY },
  refresh: { name: 'refresh', concurrency: CONCURRENCY },
  // Twice as many as threads, so that no thread waits for the next request.
  signIn: { name: 'password sign-in', concurrency: 2 * availableParallelism() },
}

/** Our own service, on accounts that are seeded, and the same database behind nothing but `node:http`. */
async function ownContenders(): Promise<Contender[]> {
  const adminUrl = process.env['DATABASE_URL'] ?? ''
  const databaseUrl = await seedDatabase(adminUrl, 'bench_common', 2 * accounts + CONCURRENCY)
  const admin = new Db({ connectionString: adminUrl, max: 1 })
  const postmaster = await postmasterOf(admin)
  await admin.close()
  const service = await startService(databaseUrl, { keys: newKeys('ES256') })
  const bare = await startBareHttp(databaseUrl)
  const withPostgres = (server: { cpuMs(): number }) => () => ({
    server: server.cpuMs(),
    postgres: familyCpuMsOf(postmaster),
  })
  return [
    { name: 'signet', base: service.base, spent: withPostgres(service), stop: () => service.stop() },
    { name: RAW, base: bare.base, spent: withPostgres(bare), stop: () => bare.stop() },
  ]
}

/** `<name>=<url>`, and the process ids of its servers behind commas. */
function peerIn(argument: string): Contender[] {
  const [, name, base, pids = ''] = /^peer=([^=]+)=(https?:[^,]+?)\/?(?:,([\d,]+))?$/.exec(argument) ?? []
  if (name === undefined || base === undefined) return []
  const processes = pids.split(',').filter(Boolean).map(Number)
  const spent = () => ({ server: processes.reduce((sum, pid) => sum + familyCpuMsOf(pid), 0) })
  return [{ name, base, ...(processes.length > 0 && { spent }), stop: () => Promise.resolve(), isPeer: true }]
}

class Client {
  readonly #agent = new Agent({ connections: 64, pipelining: 1 })

  constructor(private readonly base: string) {}

  async ask(path: string, { token, body }: { token?: string; body?: object } = {}): Promise<unknown> {
    const answer = await request(this.base + path, {
      dispatcher: this.#agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 200)
      throw new Error(`${this.base}${path} answered ${answer.statusCode}: ${text}`)
    return JSON.parse(text)
  }

  close = () => this.#agent.close()
}

/** What each case asks of one contender. */
type Shoots = Record<'signIn' | 'refresh' | 'user', Shoot>

async function apiShoots(client: Client, { isPeer = false }: Contender): Promise<Shoots> {
  const run = randomBytes(4).toString('hex')
  const emails = Array.from({ length: accounts }, (_, n) =>
    isPeer ? `bench-${run}-${n}@example.com` : emailOf(n + 1),
  )
  if (isPeer) for (const email of emails) await client.ask('/signup', { body: { email, password: PASSWORD } })
  const signIn = async (email: string | undefined) =>
    (await client.ask('/token?grant_type=password', { body: { email, password: PASSWORD } })) as Session
  const any = <T>(list: readonly T[]) => list[Math.floor(Math.random() * list.length)]
  const sessions: Session[] = []
  for (const email of emails.slice(0, CONCURRENCY)) sessions.push(await signIn(email))
  const refreshed = sessions.map(({ refresh_token: token }) => token)
  return {
    signIn: async () => void (await signIn(any(emails))),
    async refresh(worker) {
      const body = { refresh_token: refreshed[worker % refreshed.length] }
      const session = (await client.ask('/token?grant_type=refresh_token', { body })) as Session
      refreshed[worker % refreshed.length] = session.refresh_token
    },
    async user() {
      const token = any(sessions)?.access_token ?? ''
      await client.ask('/user', { token })
    },
  }
}

/** The same statements, and for a refresh the same signature; what hashing costs at best has no HTTP. */
function rawShoots(client: Client): Omit<Shoots, 'signIn'> {
  return {
    async refresh(worker) {
      await client.ask('/refresh', { body: { session: sessionIdOf(accounts + 1 + worker) } })
    },
    async user() {
      await client.ask(`/user/${userIdOf(1 + Math.floor(Math.random() * accounts))}`)
    },
  }
}

type Load = { who: string; run: () => Promise<Run> }

/** One load after the other in each round, so that all see the same machine; the first round warms up. */
async function measureCase(name: string, loads: readonly Load[]): Promise<void> {
  const runs = loads.map(({ run }) => run)
  const seen = await inTurns(runs, rounds)
  for (const [index, { who }] of loads.entries()) tell(name, who, seen[index] ?? [])
}

function tell(name: string, who: string, runs: readonly Run[]): void {
  const middle = (pick: (run: Run) => number | undefined) =>
    rounded(median(runs.map((run) => pick(run) ?? NaN)))
  const parts = Object.keys(runs[0]?.cpuUsOf ?? {})
  const others = {
    ...Object.fromEntries(parts.map((part) => [`cpuUs of ${part}`, middle((run) => run.cpuUsOf?.[part])])),
    ...(parts.length > 0 && {
      cpuUs: middle((run) => Object.values(run.cpuUsOf ?? {}).reduce((sum, us) => sum + us, 0)),
    }),
    ...(runs.every(({ p50Ms }) => p50Ms !== undefined) && {
      p50Ms: middle((run) => run.p50Ms),
      p99Ms: middle((run) => run.p99Ms),
    }),
  }
  report({ case: name, who, value: middle(({ perSecond }) => perSecond), unit: '1/s', others })
}

async function metered(shoot: Shoot, concurrency: number, { spent }: Contender): Promise<Run> {
  const before = spent?.()
  const { perSecond, p50Ms, p99Ms, requests } = await measure(shoot, { concurrency, seconds })
  const after = spent?.()
  if (!before || !after) return { perSecond, p50Ms, p99Ms }
  const cpuUsOf = Object.fromEntries(
    Object.entries(after).map(([part, ms]) => [part, (1000 * (ms - (before[part] ?? 0))) / requests]),
  )
  return { perSecond, p50Ms, p99Ms, cpuUsOf }
}

const contenders = [...(await ownContenders()), ...process.argv.flatMap(peerIn)]
const hashing = await startRawHashing()
const clients: Client[] = []
const loads: Record<keyof Shoots, Load[]> = {
  signIn: [{ who: RAW, run: async () => ({ perSecond: await hashing.measure(seconds) }) }],
  refresh: [],
  user: [],
}
for (const contender of contenders) {
  const client = new Client(contender.base)
  clients.push(client)
  const shoots: Partial<Shoots> =
    contender.name === RAW ? rawShoots(client) : await apiShoots(client, contender)
  for (const key of ['signIn', 'refresh', 'user'] as const) {
    const shoot = shoots[key]
    if (shoot)
      loads[key].push({ who: contender.name, run: () => metered(shoot, CASES[key].concurrency, contender) })
  }
}
for (const key of ['user', 'refresh', 'signIn'] as const) await measureCase(CASES[key].name, loads[key])
await hashing.stop()
for (const client of clients) await client.close()
for (const { stop } of contenders) await stop()
