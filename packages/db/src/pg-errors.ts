type PgError = { code?: unknown; constraint?: unknown }

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as PgError
  return typeof code === 'string' ? code : ''
}

/** True for a violation of a unique constraint or index, or only of `constraint` if given. */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  codeOf(error) === '23505' && (constraint === undefined || (error as PgError).constraint === constraint)

/** True for a violation of the foreign key of this name. */
export const isForeignKeyViolation = (error: unknown, constraint: string): boolean =>
  codeOf(error) === '23503' && (error as PgError).constraint === constraint

/** True for a violation of the check constraint of this name. */
export const isCheckViolation = (error: unknown, constraint: string): boolean =>
  codeOf(error) === '23514' && (error as PgError).constraint === constraint

/** True if `lock_timeout` cancelled the statement. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'

/** True if `statement_timeout` or an operator cancelled the statement. */
export const isStatementTimeout = (error: unknown): boolean => codeOf(error) === '57014'

/** The driver's message for a statement that got no response. */
const NO_ANSWER = 'Query read timeout'

export const noAnswer = () => new Error(NO_ANSWER)

/** True if the server did not respond at all within the time limit of statements. */
export const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error && error.message === NO_ANSWER

/** True if the server aborted the transaction because of a deadlock or a serialization conflict. */
export const isDeadlock = (error: unknown): boolean => ['40P01', '40001'].includes(codeOf(error))

/** Socket and DNS errors: host down, unreachable, or no local sockets left. */
const CONNECTION_CODES = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/**
 * True if the statement may succeed later: PostgreSQL could not be reached, had no connections left or closed one (classes 08,
 * 53 and 57P, 25P03 for one idle in a transaction), stopped responding, is a read-only standby (25006, after a failover), or
 * the pool had no free connection in time.
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
