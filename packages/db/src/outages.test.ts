import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { startLine } from '../test/line.js'
import { ownDatabase } from '../test/own-database.js'
import { Db, isStatementTimeout, isUnavailable } from './index.js'

const { url, db } = ownDatabase('outages')

/** Opens `count` connections of a pool: each transaction holds one until all are open. */
async function openAll(pool: Db, count: number): Promise<void> {
  let open = 0
  const one = () =>
    pool.transaction(async (tx) => {
      await tx.query('select 1')
      open += 1
      while (open < count) await turn()
    })
  await Promise.all(Array.from({ length: count }, one))
}

describe('when the server goes away', () => {
  it('replaces the lost connection and calls the failure unavailable', async () => {
    const victim = new Db({ connectionString: url, max: 1 })
    const failure = victim.transaction(async (tx) => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await db.query('select pg_terminate_backend($1)', [rows[0]?.pid])
      await tx.query('select 1')
    })
    const error: unknown = await failure.catch((reason: unknown) => reason)
    expect(isUnavailable(error)).toBe(true)
    expect((await victim.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await victim.close()
  })

  it('calls a refused connection unavailable', async () => {
    const nowhere = new Db({ connectionString: 'postgres://app@127.0.0.1:1/x', connectionTimeoutMs: 500 })
    const error: unknown = await nowhere.ping().catch((reason: unknown) => reason)
    expect(isUnavailable(error)).toBe(true)
    await nowhere.close()
  })
})

describe('when the server falls silent', () => {
  it('gives it up soon after the time that a statement may take, also in a transaction', async () => {
    const line = await startLine(url)
    const db = new Db({ connectionString: line.url, max: 1, statementTimeoutMs: 100 })
    try {
      const failure = db.transaction((tx) => line.silence(() => tx.query('select 1')))
      const error: unknown = await failure.catch((reason: unknown) => reason)
      expect(error).toMatchObject({ message: 'Query read timeout' })
      expect(isUnavailable(error)).toBe(true)
      expect((await db.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    } finally {
      line.close()
      await db.close()
    }
  })

  it('gives up what has no time limit as soon as the server says that it works on nothing, and idle connections with it', async () => {
    const line = await startLine(url)
    const db = new Db({ connectionString: line.url, max: 3, closeSilent: true })
    try {
      await openAll(db, 3)
      const failure = line.silence(() => db.query('select 1'))
      const error: unknown = await failure.catch((reason: unknown) => reason)
      expect(error).toMatchObject({ message: 'Connection terminated: the server is silent' })
      expect(isUnavailable(error)).toBe(true)
      // Had the pool kept its other connections, this query would fail in the same way.
      expect((await db.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      const failed = db.transaction((tx) => line.silence(() => tx.query('select 1')))
      expect(isUnavailable(await failed.catch((reason: unknown) => reason))).toBe(true)
    } finally {
      line.close()
      await db.close()
    }
  })

  it('lets what the server works on take its time, a statement and a wait for a lock', async () => {
    const patient = new Db({ connectionString: url, max: 3, closeSilent: true, applicationName: 'patient' })
    const probes = () =>
      db.query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity where application_name = 'patient-probe' and query like '%pg_stat_activity%'`,
      )
    const waiting = await patient.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock(13)')
      const lock = patient.query<{ one: number }>('select 1 as one from pg_advisory_xact_lock(13)')
      // Keeps the server busy until the test takes lock 14.
      const slow = patient.query(
        `do $$ begin
           while not exists (select from pg_locks where locktype = 'advisory' and objid = 14) loop
             perform pg_sleep(0.02);
           end loop;
         end $$`,
      )
      while ((await probes()).rows[0]?.count === 0) await turn()
      await tx.query('select pg_advisory_xact_lock(14)')
      await expect(slow).resolves.toBeDefined()
      return { lock }
    })
    expect((await waiting.lock).rows).toEqual([{ one: 1 }])
    await patient.close()
  })

  it('leaves a statement that takes too long to the server', async () => {
    const shortTimeout = new Db({ connectionString: url, max: 1, statementTimeoutMs: 100 })
    const error: unknown = await shortTimeout.query('select pg_sleep(60)').catch((reason: unknown) => reason)
    expect(isStatementTimeout(error)).toBe(true)
    expect(isUnavailable(error)).toBe(false)
    await shortTimeout.close()
  })
})

it('calls a standby unavailable, since it cannot write', async () => {
  const error: unknown = await db
    .transaction(async (tx) => {
      await tx.query('set transaction read only')
      await tx.query('create table nowhere ()')
    })
    .catch((reason: unknown) => reason)
  expect(isUnavailable(error)).toBe(true)
})
