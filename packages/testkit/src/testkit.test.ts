import { afterAll, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { createTestDatabase, holdsInSomeRun, TestClock, testRedis, waitFor } from './index.js'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<object>(text)).rows
  } finally {
    await client.end()
  }
}

describe('createTestDatabase', () => {
  const made: { drop(): Promise<void> }[] = []
  afterAll(async () => {
    await Promise.all(made.map((database) => database.drop()))
  })

  it('migrates one template for many simultaneous callers and gives each a copy of its own', async () => {
    let migrations = 0
    const migrate = async (url: string): Promise<void> => {
      migrations += 1
      await query(url, 'create table thing (id int)')
    }
    const key = `testkit:${process.pid}:${Date.now()}`
    const databases = await Promise.all(Array.from({ length: 5 }, () => createTestDatabase({ key, migrate })))
    made.push(...databases)
    expect(migrations).toBe(1)
    const [first, second] = databases
    await query(first?.url ?? '', 'insert into thing values (1)')
    expect(await query(first?.url ?? '', 'select id from thing')).toEqual([{ id: 1 }])
    expect(await query(second?.url ?? '', 'select id from thing')).toEqual([])
  })

  it('lets sessions that are being closed end by themselves before it drops the database', async () => {
    const errors: Error[] = []
    for (let round = 0; round < 20; round += 1) {
      const database = await createTestDatabase({
        key: `testkit-closing:${process.pid}`,
        migrate: async (template) => void (await query(template, 'select 1')),
      })
      const pool = new pg.Pool({ connectionString: database.url })
      pool.on('connect', (client) => void client.on('error', (error) => errors.push(error)))
      await Promise.all(Array.from({ length: 5 }, () => pool.query('select 1')))
      await pool.end()
      await database.drop()
    }
    expect(errors).toEqual([])
  })

  it('makes the template again when the migration failed half way', async () => {
    const key = `testkit-failing:${process.pid}:${Date.now()}`
    const failing = async (url: string): Promise<void> => {
      await query(url, 'create table half (id int)')
      throw new Error('no')
    }
    await expect(createTestDatabase({ key, migrate: failing })).rejects.toThrow('no')
    const database = await createTestDatabase({
      key,
      migrate: async (url) => {
        await query(url, 'create table whole (id int)')
      },
    })
    made.push(database)
    const tables = await query(database.url, "select tablename from pg_tables where schemaname = 'public'")
    expect(tables).toEqual([{ tablename: 'whole' }])
  })
})

describe('holdsInSomeRun', () => {
  it('passes with the first run that holds, and measures no more', async () => {
    const times = [90, 20, 30]
    await holdsInSomeRun(() => Promise.resolve(expect(times.shift()).toBeLessThan(50)))
    expect(times).toEqual([30])
  })

  it('fails with the last run when none holds', async () => {
    let runs = 0
    const failure = holdsInSomeRun(() => Promise.reject(new Error(`run ${(runs += 1)}`)), 3)
    await expect(failure).rejects.toThrow('run 3')
    expect(runs).toBe(3)
  })
})

describe('waitFor', () => {
  it('returns the first truthy value and forgives errors before it', async () => {
    let calls = 0
    const value = await waitFor(() => {
      calls += 1
      if (calls === 1) throw new Error('not yet')
      return calls === 3 && 'done'
    })
    expect(value).toBe('done')
  })

  it('names what it waited for and why it was never met', async () => {
    const failure = waitFor(() => Promise.reject(new Error('still closed')), {
      timeoutMs: 30,
      describe: 'the door',
    })
    await expect(failure).rejects.toMatchObject({
      message: 'waited 30 ms for the door',
      cause: { message: 'still closed' },
    })
  })
})

it('the clock moves only when told', () => {
  const clock = new TestClock('2030-01-01T00:00:00Z')
  const { now } = clock
  clock.advance(1500)
  expect(now().toISOString()).toBe('2030-01-01T00:00:01.500Z')
})

it('every caller gets a queue prefix of its own', () => {
  expect(testRedis().prefix).toMatch(/^\{test-.+\}$/)
  expect(testRedis().prefix).not.toBe(testRedis().prefix)
})
