import { fileURLToPath } from 'node:url'
import { migrate } from '@signet/db'
import { createTestDatabase, migrationsKey, type TestDatabase } from '@signet/testkit'

const directory = fileURLToPath(new URL('../../../apps/webhooks/migrations', import.meta.url))

/** Brings a database to the schema of the webhooks service, which owns it. */
export async function migrateWebhooks(databaseUrl: string): Promise<void> {
  await migrate({ databaseUrl, directory, table: 'migrations' })
}

export const webhooksDatabase = (): Promise<TestDatabase> =>
  createTestDatabase({ key: migrationsKey('webhooks', directory), migrate: migrateWebhooks })
