import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosStack, ProcessName } from '../stack.js'
import { DISPATCHERS, untilInFlight, type Fault } from './fault.js'

export const killDispatcher = (name: ProcessName): Fault => ({
  name: `kill ${name} in mid-attempt`,
  async run(stack) {
    await untilInFlight(stack)
    stack.process(name).kill('SIGKILL')
    await stack.process(name).exited
    await stack.start(name)
  },
})

/**
 * Kills both dispatchers while one of their statements waits for a lock: it is never executed. `statement`: words of its first
 * 1,000 characters, which is all that PostgreSQL shows of it.
 */
const killDispatchersAt = (
  name: string,
  { table, statement }: { table: string; statement: string },
): Fault => ({
  name,
  async run(stack) {
    for (const deadline = Date.now() + 30_000; !(await killedAt(stack, table, statement)); await sleep(50))
      if (Date.now() > deadline) throw new Error(`no dispatcher waited for ${table}`)
    await Promise.all(DISPATCHERS.map((dispatcher) => stack.start(dispatcher)))
  },
})

/** False if no dispatcher came by in time: the API waits for the same lock, so it cannot be held for long. */
const killedAt = (stack: ChaosStack, table: string, statement: string): Promise<boolean> =>
  stack.db.transaction(async (tx) => {
    const blocked = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and application_name like 'signet-dispatcher%' and query like '%${statement}%'`
    await tx.query(`lock table ${table} in access exclusive mode`)
    for (
      const deadline = Date.now() + 500;
      (await tx.query(`select ${blocked}`)).rowCount === 0;
      await sleep(5)
    )
      if (Date.now() > deadline) return false
    for (const dispatcher of DISPATCHERS) stack.process(dispatcher).kill('SIGKILL')
    for (const dispatcher of DISPATCHERS) await stack.process(dispatcher).exited
    // PostgreSQL would execute it after all, for nobody.
    await tx.query(`select pg_terminate_backend(pid) ${blocked}`)
    return true
  })

export const killWhilePreparing = killDispatchersAt('kill both dispatchers while they prepare bodies', {
  table: 'summaries',
  statement: 'join summaries',
})

export const killBeforeRecording = killDispatchersAt('kill both dispatchers between sending and recording', {
  table: 'webhook_attempts',
  statement: 'number, delivered, counts, error',
})

export const killApi: Fault = {
  name: 'kill the API in mid-ingest',
  async run(stack) {
    stack.process('api').kill('SIGKILL')
    await stack.process('api').exited
    await stack.start('api')
  },
}

export const killRedis = ({ empty }: { empty: boolean }): Fault => ({
  name: empty ? 'kill Redis, restart it empty' : 'kill Redis, restart it with its append-only file',
  async run(stack) {
    await untilInFlight(stack)
    await stack.redis.kill()
    await sleep(1000)
    await stack.redis.startAgain({ empty })
  },
})

export const killPostgres: Fault = {
  name: 'kill PostgreSQL, restart it',
  async run(stack) {
    await untilInFlight(stack)
    await stack.postgres.kill()
    await sleep(1000)
    await stack.postgres.startAgain()
  },
}

/** Longer than its job locks live. */
export const freezeDispatcher = (name: ProcessName, seconds: number): Fault => ({
  name: `freeze ${name} for ${seconds} s`,
  async run(stack) {
    await untilInFlight(stack)
    stack.process(name).kill('SIGSTOP')
    await sleep(seconds * 1000)
    stack.process(name).kill('SIGCONT')
  },
})
