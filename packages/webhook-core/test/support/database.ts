import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from '@jest/globals'
import { Db, migrate } from '@signet/db'
import { createTestDatabase, migrationsKey, type TestDatabase } from '@signet/testkit'

const directory = fileURLToPath(new URL('../../../../apps/webhooks/migrations', import.meta.url))

/** The webhooks schema in a database of this file's own. The object is usable from the first `beforeAll` on. */
export function useDatabase({ connections = 25 } = {}): { readonly db: Db } {
  let database: TestDatabase | undefined
  let db: Db | undefined
  beforeAll(async () => {
    database = await createTestDatabase({
      key: migrationsKey('webhooks', directory),
      migrate: async (databaseUrl) => {
        await migrate({ databaseUrl, directory, table: 'migrations' })
      },
    })
    db = new Db({ connectionString: database.url, max: connections })
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
