import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { ownDatabase } from '../test/own-database.js'
import { Db, isUnavailable, isUniqueViolation, type TraceStatement } from './index.js'

const { url, admin, db } = ownDatabase('package')

it('tells a tracer of statements and transactions, and shows it no parameters', async () => {
  const told: string[] = []
  const trace: TraceStatement = (statement, work) => {
    told.push(statement)
    return work()
  }
  const traced = new Db({ connectionString: url, max: 1, trace })
  await traced.transaction((tx) => tx.query({ name: 'one', text: 'select $1::text' }, ['secret']))
  await traced.query('select 2')
  await traced.connection((connection) => connection.query('select 3'))
  await traced.close()
  expect(told).toEqual(['transaction', 'one', 'select 2', 'select 3'])
})

it('keeps no plan that reads a whole table because the table was small once', async () => {
  const one = new Db({ connectionString: url, max: 1, preferIndexes: true })
  await one.query('create table grows (id int primary key)')
  await one.query('insert into grows values (0)')
  await one.query('analyze grows')
  for (let run = 0; run < 10; run += 1)
    await one.query({ name: 'grows', text: 'select from grows where id = any ($1::int[])' }, [[1, 2]])
  await one.query('insert into grows select generate_series(1, 1000)')
  const { rows } = await one.query(`explain (format json) execute grows ('{1,2}')`)
  await one.close()
  expect(JSON.stringify(rows)).toContain('grows_pkey')
})

it('keeps a connection over a pause, and closes those that only a burst needed', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] })
  const one = new Db({ connectionString: url })
  try {
    const session = async () => (await one.query<{ pid: number }>('select pg_backend_pid() pid')).rows[0]?.pid
    const sessions = await Promise.all([session(), session(), session()])
    expect(new Set(sessions).size).toBe(3)
    jest.advanceTimersByTime(3_600_000)
    expect(one.pool.totalCount).toBe(1)
    expect(sessions).toContain(await session())
  } finally {
    jest.useRealTimers()
    await one.close()
  }
})

it('refuses every change where it is only to read', async () => {
  const reader = new Db({ connectionString: url, max: 1, readOnly: true })
  await expect(reader.query('create table written (id int)')).rejects.toMatchObject({ code: '25006' })
  await reader.close()
})

it('plans a statement once for all parameters when told to', async () => {
  const one = new Db({ connectionString: url, max: 1, planOnce: true })
  for (let run = 0; run < 3; run += 1) await one.query({ name: 'planned', text: 'select $1::int' }, [run])
  const { rows } = await one.query(
    `select generic_plans::int, custom_plans::int from pg_prepared_statements where name = 'planned'`,
  )
  await one.close()
  expect(rows).toEqual([{ generic_plans: 3, custom_plans: 0 }])
})

it('plans a search for what is looked for, and what follows on its connection once again', async () => {
  const one = new Db({ connectionString: url, max: 1, planOnce: true })
  const look = { name: 'looked', text: 'select $1::int' }
  await one.search((tx) => tx.query(look, [1]))
  await one.query(look, [2])
  const { rows } = await one.query(
    `select generic_plans::int, custom_plans::int from pg_prepared_statements where name = 'looked'`,
  )
  await one.close()
  expect(rows).toEqual([{ generic_plans: 1, custom_plans: 1 }])
})

describe('transaction', () => {
  beforeAll(() => db.query('create table item (id int primary key)'))

  it('commits what it returns from and rolls back what it throws from', async () => {
    await db.transaction((tx) => tx.query('insert into item values (1)'))
    const failure = db.transaction(async (tx) => {
      await tx.query('insert into item values (2)')
      throw new Error('no')
    })
    await expect(failure).rejects.toThrow('no')
    expect((await db.query<{ id: number }>('select id from item')).rows).toEqual([{ id: 1 }])
  })

  it('does what waits for the commit after it, and nothing of it after a rollback', async () => {
    const done: string[] = []
    await db.transaction(async (tx) => {
      tx.afterCommit(() => void done.push('committed'))
      await tx.query('insert into item values (3)')
      done.push('worked')
    })
    const failure = db.transaction((tx) => {
      tx.afterCommit(() => void done.push('rolled back'))
      return Promise.reject(new Error('no'))
    })
    await expect(failure).rejects.toThrow('no')
    expect(done).toEqual(['worked', 'committed'])
    await db.query('delete from item where id = 3')
  })

  it('takes back what is only rehearsed, and keeps the rest', async () => {
    const done: string[] = []
    await db.transaction(async (tx) => {
      await tx.query('insert into item values (4)')
      await tx.rehearse(async () => {
        await tx.query('insert into item values (5)')
        tx.afterCommit(() => void done.push('rehearsed'))
      })
      await tx.query('insert into item values (6)')
      tx.afterCommit(() => void done.push('committed'))
    })
    const { rows } = await db.query('delete from item where id in (4, 5, 6) returning id')
    expect(rows).toEqual([{ id: 4 }, { id: 6 }])
    expect(done).toEqual(['committed'])
  })

  it('gives a usable connection back after an error', async () => {
    const small = new Db({ connectionString: url, max: 1 })
    await expect(small.transaction((tx) => tx.query('select nonsense'))).rejects.toThrow()
    expect((await small.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await small.close()
  })

  it('names the violated constraint', async () => {
    const error: unknown = await db.query('insert into item values (1)').catch((reason: unknown) => reason)
    expect(isUniqueViolation(error)).toBe(true)
    expect(isUniqueViolation(error, 'item_pkey')).toBe(true)
    expect(isUniqueViolation(error, 'other')).toBe(false)
  })
})

describe('an unlimited pool', () => {
  const open = async (applicationName: string) => {
    const { rows } = await admin.query<{ open: number }>(
      'select count(*)::int as open from pg_stat_activity where application_name = $1',
      [applicationName],
    )
    return rows[0]?.open
  }

  it('opens ten connections for a crowd of short statements, not one each', async () => {
    const name = 'crowd'
    const crowd = new Db({ connectionString: url, max: 'unlimited', applicationName: name, slowMs: 60_000 })
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) => crowd.query<{ n: number }>('select $1::int as n', [n])),
    )
    expect(results.map(({ rows }) => rows[0]?.n)).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect(await open(name)).toBe(10)
    await crowd.close()
  })

  it('opens more beside those that are held, so that no one waits for them', async () => {
    const name = 'held'
    const held = new Db({ connectionString: url, max: 'unlimited', applicationName: name, slowMs: 20 })
    const gate = deferred()
    const began = Array.from({ length: 25 }, deferred)
    const holders = began.map(({ resolve }) =>
      held.transaction(() => {
        resolve()
        return gate.promise
      }),
    )
    await Promise.all(began.map(({ promise }) => promise))
    expect((await held.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(await open(name)).toBe(26)
    gate.resolve()
    await Promise.all(holders)
    await held.close()
  })

  it('says that it is unavailable to callers who wait for too long', async () => {
    // Long enough for a busy machine to open the ten connections that are held.
    const options = { max: 'unlimited', slowMs: 60_000, connectionTimeoutMs: 3000 } as const
    const full = new Db({ connectionString: url, ...options })
    const gate = deferred()
    const holders = Array.from({ length: 10 }, () => full.connection(() => gate.promise))
    const error: unknown = await full.query('select 1').catch((reason: unknown) => reason)
    expect(isUnavailable(error)).toBe(true)
    gate.resolve()
    await Promise.all(holders)
    expect((await full.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await full.close()
  })
})

describe('close', () => {
  it('may be called more than once', async () => {
    const closed = new Db({ connectionString: url, max: 1 })
    await closed.close()
    await expect(closed.close()).resolves.toBeUndefined()
  })
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve: () => resolve() }
}
