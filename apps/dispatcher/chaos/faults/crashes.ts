import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosStack, ProcessName } from '../stack.js'
import { deadlineOf, DISPATCHERS, untilInFlight, type Fault } from './fault.js'

export const killDispatcher = (name: ProcessName): Fault => ({
  name: `kill ${name} in mid-attempt`,
  repeats: 'counted',
  async run(stack) {
    await untilInFlight(stack)
    stack.process(name).kill('SIGKILL')
    await stack.process(name).exited
    await stack.start(name)
  },
})

/**
 * Kills both dispatchers while one of their statements waits for a lock, so that it is never executed. `statement`: words from its first
 * 1,000 characters, because PostgreSQL shows no more of it.
 */
const killDispatchersAt = (
  name: string,
  { table, statement }: { table: string; statement: string },
): Fault => ({
  name,
  // Requests of other events that were sent by then are not recorded either.
  repeats: 'counted',
  async run(stack) {
    for (const deadline = deadlineOf(); !(await killedAt(stack, table, statement)); await sleep(50))
      if (Date.now() > deadline) throw new Error(`no dispatcher waited for ${table}`)
    await Promise.all(DISPATCHERS.map((dispatcher) => stack.start(dispatcher)))
  },
})

/** Returns false if no dispatcher came by in time: the API waits for the same lock, so this cannot hold it for long. */
const killedAt = (stack: ChaosStack, table: string, statement: string): Promise<boolean> =>
  stack.db.transaction(async (tx) => {
    const blocked = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and application_name like 'signet-dispatcher%' and query like '%${statement}%'`
    // Not in the transaction, which would see the same statements each time.
    const isBlocked = async () => (await stack.db.query(`select ${blocked}`)).rowCount !== 0
    await tx.query(`lock table ${table} in access exclusive mode`)
    for (const deadline = Date.now() + 500; !(await isBlocked()); await sleep(5))
      if (Date.now() > deadline) return false
    for (const dispatcher of DISPATCHERS) stack.process(dispatcher).kill('SIGKILL')
    for (const dispatcher of DISPATCHERS) await stack.process(dispatcher).exited
    // Otherwise PostgreSQL would still execute the statement, although its client is gone.
    await stack.db.query(`select pg_terminate_backend(pid) ${blocked}`)
    return true
  })

export const killWhilePreparing = killDispatchersAt('kill both dispatchers while they prepare bodies', {
  // The part that the notices of the load leave out (load.ts).
  table: 'transcripts',
  statement: 'join transcripts',
})

/** The write that creates the rows of deliveries with their first results. */
export const killBeforeFirstResults = killDispatchersAt(
  'kill both dispatchers between sending and the combined write',
  { table: 'webhook_attempts', statement: 'event_id, key, event_type, created_at, ord' },
)

/** The write for deliveries that already have rows: those of prepared events, and retries. */
export const killBeforeResults = killDispatchersAt(
  'kill both dispatchers between sending and recording in rows',
  { table: 'webhook_attempts', statement: 'event_id, key, ord' },
)

/** Either of them. Where the machine is busy, attempts take so long that nearly all deliveries get their rows first. */
export const killBeforeAnyResults = killDispatchersAt('kill both dispatchers between sending and recording', {
  table: 'webhook_attempts',
  statement: 'event_id, key, ',
})

/** ReadyForQuery outside a transaction: PostgreSQL sends it when the statement and its commit are done. */
const READY = Buffer.from('Z\0\0\0\x05I')

/** The notice is durable, but its sender gets no answer. */
export const killApi: Fault = {
  name: 'kill the API between commit and answer',
  repeats: 'never',
  async run(stack) {
    await stack.proxies.postgres.keepAnswer('write-recordings', READY)
    stack.process('api').kill('SIGKILL')
    await stack.process('api').exited
    await stack.start('api')
  },
}

/** Repeats until a thread was killed in the middle of a document, which is then sent unchanged. */
export const killConversionThreads: Fault = {
  name: 'kill the threads that convert HTML',
  repeats: 'never',
  async run(stack) {
    for (let tries = 1; ; tries += 1) {
      const eventId = await publishLargePage(stack, tries)
      // Depending on this delay, a thread is killed at its start, between documents or in one.
      await sleep(100 * tries)
      for (const dispatcher of DISPATCHERS) stack.process(dispatcher).kill('SIGWINCH')
      if ((await whyUnconverted(stack, eventId)) === 'error') return
      if (tries === 20) throw new Error('no thread was killed in mid-conversion')
    }
  },
}

/** Publishes a page that takes long enough to convert that the conversion can be interrupted. */
async function publishLargePage(
  { internalUrl, token, accounts }: ChaosStack,
  number: number,
): Promise<string> {
  const response = await fetch(`${internalUrl}/internal/v1/summary-ready`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      source_event_key: `page:${Date.now()}`,
      account_id: accounts[number % accounts.length]?.accountId,
      audio_id: `page_${Date.now()}`,
      summaries: [{ label: 'Page', content: '<p>One <b>of</b> many.</p>'.repeat(60_000), format: 'html' }],
    }),
  })
  const { event_id: eventId } = (await response.json()) as { event_id?: string }
  if (eventId === undefined) throw new Error(`a page was refused with ${response.status}`)
  return eventId
}

/** Waits until an event went out, and returns why it was not converted; empty if it was. */
async function whyUnconverted({ db }: ChaosStack, eventId: string): Promise<string> {
  for (const deadline = deadlineOf(); ; await sleep(20)) {
    const { rows } = await db.query<{ unconverted: string | null }>(
      "select unconverted from webhook_events where id = $1 and state = 'dispatched'",
      [eventId],
    )
    if (rows[0]) return rows[0].unconverted ?? ''
    if (Date.now() > deadline) throw new Error('a large page was not dispatched')
  }
}

export const killRedis = ({ empty }: { empty: boolean }): Fault => ({
  name: empty ? 'kill Redis, restart it empty' : 'kill Redis, restart it with its append-only file',
  // The append-only file lacks the last second.
  repeats: 'uncounted',
  async run(stack) {
    await untilInFlight(stack)
    await stack.redis.kill()
    await sleep(1000)
    await stack.redis.startAgain({ empty })
  },
})

export const killPostgres: Fault = {
  name: 'kill PostgreSQL, restart it',
  // Results wait until PostgreSQL is back.
  repeats: 'never',
  async run(stack) {
    await untilInFlight(stack)
    await stack.postgres.kill()
    await sleep(1000)
    await stack.postgres.startAgain()
  },
}

/** Freezes a dispatcher for longer than its job locks live. */
export const freezeDispatcher = (name: ProcessName, seconds: number): Fault => ({
  name: `freeze ${name} for ${seconds} s`,
  repeats: 'counted',
  async run(stack) {
    await untilInFlight(stack)
    stack.process(name).kill('SIGSTOP')
    await sleep(seconds * 1000)
    stack.process(name).kill('SIGCONT')
  },
})

export const emptyRedis: Fault = {
  name: 'empty Redis, with every connection left open',
  repeats: 'uncounted',
  run: ({ redis }) => redis.empty(),
}
