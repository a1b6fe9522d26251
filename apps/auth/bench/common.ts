// `npm run bench -- common [rounds=3] [seconds=3] [accounts=500] [peer=<name>=<url>[,<pid>]]`: the requests that a server of
// the Supabase API answers most, over its API alone, so that another such server can be measured beside ours; and what Node
// and the processor can do at best. One JSON line per result.
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Db } from '@signet/db'
import { familyCpuMsOf, parentOf } from '@signet/testkit'
import { Agent, request } from 'undici'
import { startRawHashing } from './hashing.js'
import { measure, type Shoot } from './load.js'
import { median } from './report.js'
import { emailOf, PASSWORD, seedDatabase, sessionIdOf, userIdOf } from './seed.js'
import { startBareHttp, startService } from './servers.js'
import { newKeys } from './signing.js'

type Contender = {
  name: string
  base: string
  /** CPU time of its servers so far in ms, by their names, where it is known. */
  spent?: () => Readonly<Record<string, number>>
  /** Gets accounts of its own over its API. */
  isPeer?: boolean
  stop: () => Promise<void>
}
type Session = { access_token: string; refresh_token: string }
type Run = { perSecond: number; p50Ms?: number; p99Ms?: number; cpuUsOf?: Readonly<Record<string, number>> }

const option = (name: string, fallback: number) =>
  Number(process.argv.find((argument) => argument.startsWith(`${name}=`))?.slice(name.length + 1) ?? fallback)
const [rounds, seconds, accounts] = [option('rounds', 3), option('seconds', 3), option('accounts', 500)]
const LANES = 16
const RAW = 'raw limit'
const CASES = {
  user: { name: 'GET /user', lanes: LANES },
  refresh: { name: 'refresh', lanes: LANES },
  // Twice as many as threads, so that no thread waits for the next request.
  signIn: { name: 'password sign-in', lanes: 2 * availableParallelism() },
}

/** Our own service, on accounts that are seeded, and the same database behind nothing but `node:http`. */
async function ownContenders(): Promise<Contender[]> {
  const adminUrl = process.env['DATABASE_URL'] ?? ''
  const databaseUrl = await seedDatabase(adminUrl, 'bench_common', 2 * accounts + LANES)
  const postmaster = await postmasterOf(adminUrl)
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

async function postmasterOf(connectionString: string): Promise<number> {
  const db = new Db({ connectionString, max: 1 })
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  const postmaster = parentOf(rows[0]?.pid ?? 0)
  await db.close()
  return postmaster
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
  for (const email of emails.slice(0, LANES)) sessions.push(await signIn(email))
  const refreshed = sessions.map(({ refresh_token: token }) => token)
  return {
    signIn: async () => void (await signIn(any(emails))),
    async refresh(lane) {
      const body = { refresh_token: refreshed[lane % refreshed.length] }
      const session = (await client.ask('/token?grant_type=refresh_token', { body })) as Session
      refreshed[lane % refreshed.length] = session.refresh_token
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
    async refresh(lane) {
      await client.ask('/refresh', { body: { session: sessionIdOf(accounts + 1 + lane) } })
    },
    async user() {
      await client.ask(`/user/${userIdOf(1 + Math.floor(Math.random() * accounts))}`)
    },
  }
}

type Load = { who: string; run: () => Promise<Run> }

/** One load after the other in each round, so that all see the same machine; the first round warms up. */
async function measureCase(name: string, loads: readonly Load[]): Promise<void> {
  const seen = loads.map((): Run[] => [])
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, { run }] of loads.entries()) {
      const result = await run()
      if (round > 0) seen[index]?.push(result)
    }
  for (const [index, { who }] of loads.entries()) tell(name, who, seen[index] ?? [])
}

const round = (value: number) => Math.round(value * 1000) / 1000

function tell(name: string, who: string, runs: readonly Run[]): void {
  const middle = (pick: (run: Run) => number | undefined) =>
    round(median(runs.map((run) => pick(run) ?? NaN)))
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
  const value = middle(({ perSecond }) => perSecond)
  console.log(JSON.stringify({ bench: 'common', case: name, who, value, unit: '1/s', others }))
}

async function metered(shoot: Shoot, lanes: number, { spent }: Contender): Promise<Run> {
  const before = spent?.()
  const { perSecond, p50Ms, p99Ms, requests } = await measure(shoot, { lanes, seconds })
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
      loads[key].push({ who: contender.name, run: () => metered(shoot, CASES[key].lanes, contender) })
  }
}
for (const key of ['user', 'refresh', 'signIn'] as const) await measureCase(CASES[key].name, loads[key])
await hashing.stop()
for (const client of clients) await client.close()
for (const { stop } of contenders) await stop()
