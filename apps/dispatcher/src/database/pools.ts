import { Db, type DbOptions } from '@signet/db'
import { ENRICHMENT_TIMEOUT_MS } from '@signet/webhook-core/stores'

const STATEMENT_TIMEOUT_MS = 30_000
/** TCP tries again 1 s after a lost first packet, then after 3 s and 7 s: starting over is faster. */
const CONNECTION_TIMEOUT_MS = 3_000
/** Many times longer than statements that record results normally wait for locks of others. */
const RESULT_LOCK_TIMEOUT_MS = 1_000
/** One for each part of the three batches that may be read at a time. */
const MIRROR_CONNECTIONS = 9

/**
 * The connections of a dispatcher, in separate pools for work that must not take connections from other work (decision 0058). They
 * open on demand.
 */
export function createPools(databaseUrl: string, onIdleError: (error: Error) => void) {
  const pool = (name: string, options: DbOptionsOfPool) =>
    new Db({
      connectionString: databaseUrl,
      applicationName: `signet-dispatcher${name}`,
      preferIndexes: true,
      onIdleError,
      ...options,
    })
  const ofResults = {
    planOnce: true,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: RESULT_LOCK_TIMEOUT_MS,
    connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
    closeSilent: true,
  } as const
  const pools = {
    db: pool('', {
      max: 10,
      planOnce: true,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
      closeSilent: true,
    }),
    /** For results: while a statement waits for what one account has locked, no other account's results are recorded. */
    results: pool('-results', { ...ofResults, max: 3 }),
    /** For results of accounts that may be blocked: while they wait, they must not hold up others for long. */
    apart: pool('-apart', { ...ofResults, max: 2 }),
    /** PostgreSQL ends slow statements, and they cannot block results. */
    recordings: pool('-enrichment', {
      max: MIRROR_CONNECTIONS,
      planOnce: true,
      statementTimeoutMs: ENRICHMENT_TIMEOUT_MS,
      connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
      closeSilent: true,
    }),
    /** Pages may be slow and must never change anything. */
    admin: pool('-admin', { max: 2, readOnly: true, statementTimeoutMs: 5_000 }),
  }
  return {
    ...pools,
    close: async () => void (await Promise.all(Object.values(pools).map((each) => each.close()))),
  }
}

type DbOptionsOfPool = Pick<
  DbOptions,
  | 'max'
  | 'planOnce'
  | 'readOnly'
  | 'statementTimeoutMs'
  | 'lockTimeoutMs'
  | 'connectionTimeoutMs'
  | 'closeSilent'
>
