type PgError = { code?: unknown; constraint?: unknown }

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as PgError
  return typeof code === 'string' ? code : ''
}

/** True for a violation of a unique constraint or index; of exactly this one when `constraint` is given. */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  codeOf(error) === '23505' && (constraint === undefined || (error as PgError).constraint === constraint)

/** True when `lock_timeout` ended the statement. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'

/** True when `statement_timeout`, or an operator, ended the statement. */
export const isStatementTimeout = (error: unknown): boolean => codeOf(error) === '57014'

/** True when the server said nothing at all for longer than any statement may take. */
export const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error && error.message === 'Query read timeout'

/** True when the server chose this transaction as the victim of a deadlock or a serialisation conflict. */
export const isDeadlock = (error: unknown): boolean => ['40P01', '40001'].includes(codeOf(error))

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
])

/**
 * True when PostgreSQL could not be reached, took no more connections or ended one (classes 08, 53 and 57P, 25P03 for one that
 * was idle in a transaction), fell silent, cannot write because it is a standby (25006, after a failover), or the pool had no
 * connection to give in time: the statement may succeed later.
 */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(08...|53...|57P0[1-4]|25P03|25006)$/.test(code) || CONNECTION_CODES.has(code)) return true
  if (isUnanswered(error)) return true
  if (error instanceof AggregateError) return error.errors.some(isUnavailable)
  return (
    error instanceof Error &&
    /^(Connection terminated|timeout exceeded when trying to connect|Client was closed|Client has encountered a connection error|Cannot use a pool after calling end)/.test(
      error.message,
    )
  )
}
