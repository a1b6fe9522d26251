import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import type { TestDatabase } from '@signet/testkit'
import { plansOf } from '@signet/testkit'
import { webhooksDatabase } from './database.js'
import { isLarge, type HotQuery } from './large-tables.js'

/** The webhooks schema in a separate database for this test file. The object is usable from the first `beforeAll` on. */
export function useWebhooksDatabase({ connections = 25 } = {}): { readonly db: Db } {
  let database: TestDatabase | undefined
  let db: Db | undefined
  beforeAll(async () => {
    database = await webhooksDatabase()
    // Some tests start a hundred transactions at once; on a busy machine most of them wait long for a connection.
    db = new Db({ connectionString: database.url, max: connections, connectionTimeoutMs: 150_000 })
  })
  afterAll(async () => {
    await db?.close()
    await database?.drop()
  })
  return {
    get db() {
      if (db === undefined) throw new Error('the database is there from beforeAll on')
      return db
    },
  }
}

/** Tests that queries use indexes on the tables of `fillTables`, with the plan for their parameters and with the generic plan. */
export function itReadsByIndexes(database: { readonly db: Db }, queries: readonly HotQuery[]): void {
  it.each(queries)('%s', async (_name, run, indexes) => {
    const plans = await plansOf(database.db, run)
    // Where two indexes serve equally well, the statistics decide which one is used.
    const missing = indexes.filter(
      (names) => !names.split(' or ').some((name) => plans.indexes.includes(name)),
    )
    expect({ missing, used: plans.indexes }).toEqual({ missing: [], used: plans.indexes })
    expect(plans.fullScans.filter(isLarge)).toEqual([])
  })

  // The connections of the dispatcher plan each statement once, for any parameters.
  it.each(queries)('%s, planned once for all', async (_name, run, indexes) => {
    const plans = await plansOf(database.db, run, { generic: true })
    // Where two indexes serve equally well, the statistics decide which one is used.
    const missing = indexes.filter(
      (names) => !names.split(' or ').some((name) => plans.indexes.includes(name)),
    )
    expect({ missing, used: plans.indexes }).toEqual({ missing: [], used: plans.indexes })
    expect([...plans.fullScans, ...plans.fullIndexScans].filter(isLarge)).toEqual([])
  })
}
