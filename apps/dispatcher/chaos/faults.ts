import { setTimeout as sleep } from 'node:timers/promises'
import { fillDisk, isApart, makeRoom } from './machine.js'
import type { ChaosStack, ProcessName } from './stack.js'

const DISPATCHERS = ['dispatcher-1', 'dispatcher-2'] as const

export type Fault = {
  name: string
  /** Needs disks of the run's own. */
  apart?: boolean
  /** Resolves when the fault is over, that is when everything runs and is connected again. */
  run(stack: ChaosStack): Promise<void>
}

const untilInFlight = async ({ receiver }: ChaosStack): Promise<void> => {
  for (const deadline = Date.now() + 30_000; receiver.open < 2; await sleep(2))
    if (Date.now() > deadline) throw new Error('nothing is being delivered')
}

const killDispatcher = (name: ProcessName): Fault => ({
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

const killWhilePreparing = killDispatchersAt('kill both dispatchers while they prepare bodies', {
  table: 'summaries',
  statement: 'join summaries',
})

const killBeforeRecording = killDispatchersAt('kill both dispatchers between sending and recording', {
  table: 'webhook_attempts',
  statement: 'number, delivered, counts, error',
})

const killApi: Fault = {
  name: 'kill the API in mid-ingest',
  async run(stack) {
    stack.process('api').kill('SIGKILL')
    await stack.process('api').exited
    await stack.start('api')
  },
}

const killRedis = ({ empty }: { empty: boolean }): Fault => ({
  name: empty ? 'kill Redis, restart it empty' : 'kill Redis, restart it with its append-only file',
  async run(stack) {
    await untilInFlight(stack)
    await stack.killRedis()
    await sleep(1000)
    await stack.startRedisAgain({ empty })
  },
})

const killPostgres: Fault = {
  name: 'kill PostgreSQL, restart it',
  async run(stack) {
    await untilInFlight(stack)
    await stack.killPostgres()
    await sleep(1000)
    await stack.startPostgresAgain()
  },
}

const cutRedis = (seconds: number): Fault => ({
  name: `cut Redis off for ${seconds} s`,
  async run({ proxy }) {
    proxy.cut()
    await sleep(seconds * 1000)
    proxy.heal()
  },
})

/** Longer than its job locks live. */
const freezeDispatcher = (name: ProcessName, seconds: number): Fault => ({
  name: `freeze ${name} for ${seconds} s`,
  async run(stack) {
    await untilInFlight(stack)
    stack.process(name).kill('SIGSTOP')
    await sleep(seconds * 1000)
    stack.process(name).kill('SIGCONT')
  },
})

const fillRedisDisk = (seconds: number): Fault => ({
  name: `fill the disk of Redis for ${seconds} s`,
  apart: true,
  async run({ disks }) {
    fillDisk(disks.redis)
    await sleep(seconds * 1000)
    makeRoom(disks.redis)
  },
})

/** The next file of its write-ahead log does not fit either, so that PostgreSQL ends itself; its operator makes room and starts it. */
const fillPostgresDisk = (seconds: number): Fault => ({
  name: `fill the disk of PostgreSQL for ${seconds} s`,
  apart: true,
  async run(stack) {
    await untilInFlight(stack)
    fillDisk(stack.disks.postgres)
    const switching = stack.db.query('select pg_switch_wal()').catch(() => undefined)
    await sleep(seconds * 1000)
    await switching
    makeRoom(stack.disks.postgres)
    await stack.killPostgres()
    await stack.startPostgresAgain()
  },
})

export const allFaults: readonly Fault[] = [
  killDispatcher('dispatcher-1'),
  killWhilePreparing,
  killBeforeRecording,
  killApi,
  killRedis({ empty: true }),
  killRedis({ empty: false }),
  killPostgres,
  cutRedis(30),
  freezeDispatcher('dispatcher-2', 20),
  killDispatcher('dispatcher-2'),
  fillRedisDisk(15),
  fillPostgresDisk(15),
]

/** Those that can be had here. */
export const possible = (faults: readonly Fault[]): Fault[] =>
  faults.filter(({ apart }) => !apart || isApart())

/** What fits into a test run: every kind of loss once, without the long waits. */
export const shortFaults: readonly Fault[] = [
  killDispatcher('dispatcher-1'),
  killApi,
  killRedis({ empty: true }),
  killPostgres,
]
