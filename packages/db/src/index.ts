export { Db, type DbOptions, type Queryable, type TraceStatement, type Tx } from './db.js'
export {
  isCheckViolation,
  isUniqueViolation,
  isUnavailable,
  isLockTimeout,
  isStatementTimeout,
  isDeadlock,
  isForeignKeyViolation,
} from './pg-errors.js'
export { parseDatabaseUrl } from './database-url.js'
export { migrate, type MigrationLog } from './migrate.js'
export { databaseNow, type DatabaseClock } from './database-time.js'
export { CLOCK_INTERVAL_MS, SharedClock } from './shared-clock.js'
export { withAdvisoryLock } from './advisory-lock.js'
export { jsonArray, textArray } from './binary-array.js'
export { Batches } from './batches.js'
