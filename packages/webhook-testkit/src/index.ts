/** The webhooks schema, for tests of code that reads or writes it. */
export { behindLock } from './behind-lock.js'
export { migrateWebhooks, webhooksDatabase } from './database.js'
export { fillTables, isLarge, type HotQuery } from './large-tables.js'
export {
  anAccount,
  anEndpoint,
  aSummary,
  countRows,
  deliveryState,
  endpointState,
  later,
  NOW,
  queuePing,
  queueSummary,
  type TestSummary,
} from './rows.js'
export { findRecordings, findSummaries, findTranscripts } from './stored-recordings.js'
