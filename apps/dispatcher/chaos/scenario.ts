import { setTimeout as sleep } from 'node:timers/promises'
import { deliveredSoFar, settleAccounts, STALL_MS, type Account, type FaultPeriod } from './accounts.js'
import { DISPATCHERS, type Fault } from './faults/fault.js'
import { KINDS, startLoad, type Load } from './load.js'
import { startChaosStack, type ChaosStack } from './stack.js'

export type ScenarioOptions = {
  code: 'dist' | 'source'
  faults: readonly Fault[]
  /** Whether sentinels watch Redis. */
  watched: boolean
  perSecond: number
  /** Duration of steady load before the first fault, and after each fault once it explains no more repeats. */
  calmMs: number
  seed: number
  say: (line: string) => void
}

type Dispatcher = (typeof DISPATCHERS)[number]

export type FaultReport = FaultPeriod & {
  name: string
  /** From the fault's end until each dispatcher has attempted to deliver an event that was accepted after it. */
  dispatchingAfterMs: Record<Dispatcher, number>
  /** From the fault's end until everything begun before it has had an attempt, or ended. */
  caughtUpAfterMs: number
}

export type ChaosReport = {
  faults: FaultReport[]
  account: Account
  repeated: number
  duplicates: number
  refused: number
}

const ACCOUNTS = 4
const RECOVERY_LIMIT_MS = 150_000
/** The longest wait is for a job that a fast clock put off by ten minutes: the sweeper starts it within six minutes. */
const SETTLE_LIMIT_MS = 12 * 60_000

/** Runs the faults one after the other under steady load, waits until everything has settled, and settles the accounts. */
export async function runScenario(options: ScenarioOptions): Promise<ChaosReport> {
  const { say, faults, calmMs } = options
  const stack = await startChaosStack({
    code: options.code,
    accounts: ACCOUNTS,
    watched: options.watched,
    random: seeded(options.seed),
  })
  try {
    say(`everything runs; ${options.perSecond} events a second, of which ${KINDS.join(', ')} in turn`)
    const load = startLoad({ ...stack, perSecond: options.perSecond })
    await sleep(calmMs)
    const reports: FaultReport[] = []
    for (const fault of faults) {
      const report = await runFault(fault, stack, load)
      reports.push(report)
      say(describeFault(report))
      if (fault.repeats !== 'never')
        await sleep(Math.max(0, report.to + report.lingersMs + STALL_MS - Date.now()))
      await sleep(calmMs)
    }
    await load.stop()
    await untilAtRest(stack)
    const account = await settle(stack, load, reports)
    const { repeated, duplicates } = load
    return { faults: reports, account, repeated, duplicates, refused: stack.receiver.refused }
  } finally {
    await stack.close()
  }
}

async function runFault(fault: Fault, stack: ChaosStack, load: Load): Promise<FaultReport> {
  const recorded = await deliveredSoFar(stack.db)
  const from = Date.now()
  await fault.run(stack)
  const to = Date.now()
  const dispatching = (name: Dispatcher) => {
    const attempted = attemptsSince(stack, name)
    return since(to, () => {
      const ids = attempted()
      return load.acknowledged.some(({ eventId, acceptedAt }) => acceptedAt >= to && ids.has(eventId))
    })
  }
  const [first, second, caughtUpAfterMs] = await Promise.all([
    dispatching('dispatcher-1'),
    dispatching('dispatcher-2'),
    since(to, async () => (await countUntouched(stack, new Date(from))) === 0),
  ])
  const dispatchingAfterMs = { 'dispatcher-1': first, 'dispatcher-2': second }
  const { name, repeats, lingersMs = 0 } = fault
  return { name, from, recorded, to, lingersMs, repeats, dispatchingAfterMs, caughtUpAfterMs }
}

/** Returns a function that lists the events of all attempts that a dispatcher has logged since this call. */
function attemptsSince(stack: ChaosStack, name: Dispatcher): () => ReadonlySet<string> {
  const ids = new Set<string>()
  let { to: position } = stack.logOf(name, 0)
  return () => {
    const { text, to } = stack.logOf(name, position)
    const lines = text.split('\n')
    // The last line may be incomplete.
    position = to - Buffer.byteLength(lines.pop() ?? '')
    for (const line of lines) {
      const [, id] = line.includes('"attempt":') ? (/"event_id":"([^"]+)"/.exec(line) ?? []) : []
      if (id !== undefined) ids.add(id)
    }
    return ids
  }
}

async function since(start: number, condition: () => Promise<boolean> | boolean): Promise<number> {
  while (Date.now() - start < RECOVERY_LIMIT_MS) {
    const holds = await Promise.resolve()
      .then(condition)
      .catch(() => false)
    if (holds) return Date.now() - start
    await sleep(50)
  }
  return Infinity
}

/** Counts events that are not dispatched, and deliveries without an attempt, older than `before`. */
async function countUntouched({ db }: ChaosStack, before: Date): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select (select count(*) from webhook_queued_events q join webhook_events e on e.id = q.event_id where e.created_at < $1)::integer
       + (select count(*) from webhook_deliveries where status = 0 and attempts = 0 and created_at < $1)::integer as count`,
    [before],
  )
  return rows[0]?.count ?? 0
}

async function untilAtRest({ db }: ChaosStack): Promise<void> {
  for (const deadline = Date.now() + SETTLE_LIMIT_MS; Date.now() < deadline; await sleep(200)) {
    const { rows } = await db.query<{ busy: boolean }>(
      `select exists (select from webhook_queued_events)
         or exists (select from webhook_deliveries where status = 0) as busy`,
    )
    if (rows[0]?.busy === false) return
  }
}

async function settle(stack: ChaosStack, load: Load, faults: readonly FaultPeriod[]): Promise<Account> {
  // The answer to the last attempt may be committed before the receiver has noted that it sent it.
  await sleep(500)
  const { acknowledged, refusals } = load
  return settleAccounts(stack.db, { acknowledged, refusals, requests: stack.receiver.requests, faults })
}

const inSeconds = (ms: number) => (ms === Infinity ? 'never' : `${(ms / 1000).toFixed(1)} s`)

function describeFault({ name, from, to, dispatchingAfterMs, caughtUpAfterMs }: FaultReport): string {
  const each = DISPATCHERS.map((dispatcher) => inSeconds(dispatchingAfterMs[dispatcher])).join(' and ')
  const recovery = `events accepted since are dispatched by the two dispatchers after ${each}, caught up after ${inSeconds(caughtUpAfterMs)}`
  return `${name} (${inSeconds(to - from)}): ${recovery}`
}

/** Mulberry32, a seeded generator, so that a run can repeat the receiver's moods. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
