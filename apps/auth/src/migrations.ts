import { migrate, type MigrationLog } from '@signet/db'
import { fileURLToPath } from 'node:url'
import { tablePrefix } from './database/tables.js'

const DIRECTORY = fileURLToPath(new URL('../migrations', import.meta.url))

/** The settings that name the database, for use in messages. */
export const DATABASE_SETTING = 'AUTH_DB_DATABASE_URL or DATABASE_URL'

export type MigrationTarget = { databaseUrl: string; dbNamespace: string }

/** Brings the database to this version's schema and returns the names of the migrations that were missing. */
export function migrateDatabase(
  { databaseUrl, dbNamespace }: MigrationTarget,
  log?: MigrationLog,
): Promise<string[]> {
  const prefix = tablePrefix(dbNamespace)
  return migrate({
    databaseUrl,
    setting: DATABASE_SETTING,
    directory: DIRECTORY,
    table: `${prefix}schema_migrations`,
    variables: { prefix },
    log,
  })
}
