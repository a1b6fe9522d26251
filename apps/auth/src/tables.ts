const NAMES = {
  users: 'users',
  userCounts: 'user_counts',
  identities: 'identities',
  sessions: 'sessions',
  refreshTokens: 'refresh_tokens',
  amrClaims: 'amr_claims',
  oneTimeTokens: 'one_time_tokens',
  unsentMessages: 'unsent_messages',
  flowState: 'flow_state',
  mfaFactors: 'mfa_factors',
  mfaChallenges: 'mfa_challenges',
  auditLogEntries: 'audit_log_entries',
} as const

/** Full table names for SQL. They come from the validated namespace and nothing else (contract 13.1). */
export type Tables = Readonly<Record<keyof typeof NAMES, string>>

/** `ns` makes `ns_`; PostgreSQL folds unquoted names to lower case, and so do we. */
export const tablePrefix = (namespace: string): string =>
  namespace === '' ? '' : `${namespace.toLowerCase()}_`

export function tablesOf(namespace: string): Tables {
  const prefix = tablePrefix(namespace)
  return Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, prefix + name])) as Tables
}
