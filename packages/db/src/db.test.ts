import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Db,
  isStatementTimeout,
  isUnavailable,
  isUniqueViolation,
  migrate,
  type Queryable,
  type TraceStatement,
  withAdvisoryLock,
} from './index.js'

// The testkit stands on this package, so these tests make their own database on the run's cluster.
const cluster = process.env['SIGNET_TEST_DATABASE_URL'] ?? ''
const name = `db_package_${process.pid}`
const url = Object.assign(new URL(cluster), { pathname: `/${name}` }).href
const admin = new Db({ connectionString: cluster, max: 1 })
let db: Db

beforeAll(async () => {
  await admin.query(`create database ${name}`)
  db = new Db({ connectionString: url, max: 5 })
})
afterAll(async () => {
  await db.close()
  await admin.query(`drop database ${name} with (force)`)
  await admin.close()
})

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

it('plans a statement once for all parameters when told to', async () => {
  const one = new Db({ connectionString: url, max: 1, planOnce: true })
  for (let run = 0; run < 3; run += 1) await one.query({ name: 'planned', text: 'select $1::int' }, [run])
  const { rows } = await one.query(
    `select generic_plans::int, custom_plans::int from pg_prepared_statements where name = 'planned'`,
  )
  await one.close()
  expect(rows).toEqual([{ generic_plans: 3, custom_plans: 0 }])
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

describe('until', () => {
  it('does not send what still waits for its connection when the caller has given up', async () => {
    const small = new Db({ connectionString: url, max: 1 })
    await small.query('create table sent (what text)')
    const given = new AbortController()
    const patient = small.until(new AbortController().signal)
    const insert = (db: Queryable, what: string) => db.query('insert into sent values ($1)', [what])
    const { late, inTime } = await small.connection(async () => {
      const late = insert(small.until(given.signal), 'late')
      late.catch(() => undefined) // looked at below, when the connection is free
      const inTime = insert(patient, 'in time')
      given.abort(new Error('given up'))
      return Promise.resolve({ late, inTime })
    })
    await expect(late).rejects.toThrow('given up')
    expect((await inTime).rowCount).toBe(1)
    expect((await small.query('select what from sent')).rows).toEqual([{ what: 'in time' }])
    await small.close()
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
    const holders = Array.from({ length: 25 }, () => held.transaction(() => gate.promise))
    expect((await held.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(await open(name)).toBe(26)
    gate.resolve()
    await Promise.all(holders)
    await held.close()
  })

  it('says that it is unavailable to callers who wait for too long', async () => {
    const options = { max: 'unlimited', slowMs: 60_000, connectionTimeoutMs: 200 } as const
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
    const line = await startLine()
    const db = new Db({ connectionString: line.url, max: 1, statementTimeoutMs: 100 })
    try {
      const failure = db.transaction((tx) => line.silence(() => tx.query('select 1')))
      const startedAt = performance.now()
      const error: unknown = await failure.catch((reason: unknown) => reason)
      expect(performance.now() - startedAt).toBeLessThan(4000)
      expect(error).toMatchObject({ message: 'Query read timeout' })
      expect(isUnavailable(error)).toBe(true)
      expect((await db.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    } finally {
      line.close()
      await db.close()
    }
  })

  it('leaves a statement that takes too long to the server', async () => {
    const impatient = new Db({ connectionString: url, max: 1, statementTimeoutMs: 100 })
    const error: unknown = await impatient.query('select pg_sleep(60)').catch((reason: unknown) => reason)
    expect(isStatementTimeout(error)).toBe(true)
    expect(isUnavailable(error)).toBe(false)
    await impatient.close()
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

describe('withAdvisoryLock', () => {
  it('lets exactly one of many simultaneous callers in, and the next one after it', async () => {
    const gate = deferred()
    const inside = deferred()
    const first = withAdvisoryLock(db, 'job', async () => {
      inside.resolve()
      await gate.promise
      return 'first'
    })
    await inside.promise
    const others = Promise.all(
      [1, 2, 3].map(() => withAdvisoryLock(db, 'job', () => Promise.resolve('other'))),
    )
    expect(await others).toEqual([undefined, undefined, undefined])
    gate.resolve()
    expect(await first).toBe('first')
    expect(await withAdvisoryLock(db, 'job', () => Promise.resolve('next'))).toBe('next')
  })
})

describe('migrate', () => {
  const directory = mkdtempSync(join(tmpdir(), 'signet-migrations-'))
  writeFileSync(join(directory, '20260101000000_first.sql'), 'create table {{prefix}}one (id int);')
  writeFileSync(join(directory, '20260102000000_second.sql'), 'create table {{prefix}}two (id int);')
  const options = { databaseUrl: url, directory, table: 'ns_schema_migrations', variables: { prefix: 'ns_' } }

  it('applies each file once when three replicas start together', async () => {
    const results = await Promise.all([migrate(options), migrate(options), migrate(options)])
    expect(results.flat().sort()).toEqual(['20260101000000_first', '20260102000000_second'])
    expect((await db.query('select name from ns_schema_migrations')).rowCount).toBe(2)
  })

  it('keeps what an earlier file did when a later one fails', async () => {
    writeFileSync(join(directory, '20260103000000_third.sql'), 'create table {{prefix}}three (id int);')
    writeFileSync(
      join(directory, '20260104000000_fourth.sql'),
      'create table {{prefix}}four (id int); select nonsense;',
    )
    await expect(migrate(options)).rejects.toThrow()
    const { rows } = await db.query(
      `select to_regclass('ns_three') is not null as three, to_regclass('ns_four') as four`,
    )
    expect(rows).toEqual([{ three: true, four: null }])
  })

  it('refuses a file that names an unknown variable', async () => {
    writeFileSync(join(directory, '20260104000000_fourth.sql'), 'create table {{unknown}}four (id int);')
    await expect(migrate(options)).rejects.toThrow('no value for {{unknown}}')
  })

  it('has closed its connection when it ends, also when it fails', async () => {
    const connections = async () => {
      const { rows } = await admin.query<{ open: number }>(
        'select count(*)::int as open from pg_stat_activity where datname = $1',
        [name],
      )
      return rows[0]?.open ?? 0
    }
    const before = await connections()
    await expect(migrate(options)).rejects.toThrow()
    expect(await connections()).toBeLessThanOrEqual(before)
  })
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve: () => resolve() }
}

/** A way to the cluster that can fall silent without closing, like a machine that lost its power. */
async function startLine() {
  const sockets = new Set<Socket>()
  const { hostname, port } = new URL(url)
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: near } = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(near) }).href,
    /** The connections that there are say nothing any more; new ones do. */
    silence<T>(work: () => Promise<T>): Promise<T> {
      for (const socket of sockets) socket.unpipe().pause()
      return work()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
