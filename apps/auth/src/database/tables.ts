const NAMES = {
  users: 'users',
  userCounts: 'user_counts',
  identities: 'identities',
  sessions: 'sessions',
  oneTimeTokens: 'one_time_tokens',
  pendingSignUps: 'pending_sign_ups',
  repeatedSignUps: 'repeated_sign_ups',
  codeAttempts: 'code_attempts',
  messageRequests: 'message_requests',
  outbox: 'outbox',
  flowState: 'flow_state',
  mfaFactors: 'mfa_factors',
  mfaChallenges: 'mfa_challenges',
  mfaRecoveryCodes: 'mfa_recovery_codes',
  webauthnCredentials: 'webauthn_credentials',
  webauthnSpentChallenges: 'webauthn_spent_challenges',
  signInAttempts: 'sign_in_attempts',
  knownNetworks: 'known_networks',
  signingKeys: 'signing_keys',
  auditLogEntries: 'audit_log_entries',
} as const

/** Full table names for SQL. They come from the validated namespace and nothing else (docs/specification.md#data-at-rest). */
export type Tables = Readonly<Record<keyof typeof NAMES, string>>

/** The function that writes an account event into the outbox, as its migration names it. */
export const accountEventFunction = (t: Tables): string => t.users.replace(/users$/, 'tell_account_event')

/** `ns` becomes `ns_`. PostgreSQL folds unquoted names to lower case, and so does this function. */
export const tablePrefix = (namespace: string): string =>
  namespace === '' ? '' : `${namespace.toLowerCase()}_`

export function tablesOf(namespace: string): Tables {
  const prefix = tablePrefix(namespace)
  return Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, prefix + name])) as Tables
}
