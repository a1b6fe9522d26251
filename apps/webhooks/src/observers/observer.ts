import type { Logger, RequestMeta } from '@signet/telemetry'
import { Counter, type Registry } from 'prom-client'

type Grant = 'authorization_code' | 'refresh_token'
type LoginResult = 'ok' | 'refused' | 'unavailable' | 'limited'

/**
 * Reports what happens in OAuth and to personal tokens, with one function each for log line and counter together. Labels have few
 * values: never an account, a client, a URL or a token.
 */
export function createObserver(log: Logger, registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const registered = counter('oauth_clients_registered_total', 'Clients registered', ['auth_method'])
  const decisions = counter('oauth_decisions_total', 'Decisions on the consent page', ['decision'])
  const issued = counter('oauth_tokens_issued_total', 'Access tokens issued, by grant', ['grant_type'])
  const errors = counter('oauth_errors_total', 'OAuth errors answered, by code', ['code'])
  const revoked = counter('oauth_grants_revoked_total', 'Grants revoked, by reason', ['reason'])
  const logins = counter('login_results_total', 'Sign-ins by result', ['result'])
  const personal = counter('personal_tokens_total', 'Personal tokens by what happened to them', ['action'])
  // Prometheus shows no increase for a series that starts with a burst, so these start at zero.
  for (const reason of ['code_replayed', 'refresh_token_replayed']) revoked.inc({ reason }, 0)

  return {
    clientRegistered(
      { clientId, authMethod }: { clientId: string; authMethod: string },
      { requestId }: RequestMeta,
    ) {
      registered.inc({ auth_method: authMethod })
      log.info('client registered', { request_id: requestId, client_id: clientId, auth_method: authMethod })
    },
    consentDecided(
      fields: { approved: boolean; clientId: string; accountId: string },
      { requestId }: RequestMeta,
    ) {
      const decision = fields.approved ? 'approve' : 'deny'
      decisions.inc({ decision })
      log.info('consent decided', {
        request_id: requestId,
        decision,
        client_id: fields.clientId,
        account_id: fields.accountId,
      })
    },
    tokensIssued({ grant, clientId }: { grant: Grant; clientId: string }, { requestId }: RequestMeta) {
      issued.inc({ grant_type: grant })
      log.debug('tokens issued', { request_id: requestId, grant_type: grant, client_id: clientId })
    },
    oauthError(code: string) {
      errors.inc({ code })
    },
    /** Reports an error that goes to the client through the user's browser instead of in a response of ours. */
    authorizationRefused(code: string, cause: unknown, { requestId }: RequestMeta) {
      errors.inc({ code })
      if (code === 'server_error' || code === 'temporarily_unavailable')
        log.error('authorization failed', { request_id: requestId, error: cause })
    },
    grantRevoked(fields: { grantId: string; reason: string }, { requestId }: RequestMeta) {
      revoked.inc({ reason: fields.reason })
      log.info('grant revoked', { request_id: requestId, grant_id: fields.grantId, reason: fields.reason })
    },
    accountRevoked(
      fields: {
        accountId: string
        reason: string
        grants: number
        personalTokens: number
        sessions: number
      },
      { requestId }: RequestMeta,
    ) {
      log.info('account revoked', {
        request_id: requestId,
        account_id: fields.accountId,
        reason: fields.reason,
        grants: fields.grants,
        personal_access: fields.personalTokens,
        sessions: fields.sessions,
      })
    },
    sessionsEnded(fields: { accountId: string; sessions: number }, { requestId }: RequestMeta) {
      log.info('browser sessions ended', {
        request_id: requestId,
        account_id: fields.accountId,
        sessions: fields.sessions,
      })
    },
    accountBanned(
      fields: { accountId: string; until: string | null; moved: number },
      { requestId }: RequestMeta,
    ) {
      log.info(fields.until === null ? 'ban lifted' : 'account banned', {
        request_id: requestId,
        account_id: fields.accountId,
        until: fields.until ?? undefined,
        deliveries: fields.moved,
      })
    },
    unknownAccountEvent({ requestId }: RequestMeta) {
      log.warn('account event of an unknown type ignored', { request_id: requestId })
    },
    releaseMissed(accountId: string, error: unknown) {
      log.warn('released deliveries left to the sweeper', { account_id: accountId, error })
    },
    login(result: LoginResult, fields: { accountId?: string; reason?: string }, { requestId }: RequestMeta) {
      logins.inc({ result })
      log.info('sign-in', {
        request_id: requestId,
        result,
        account_id: fields.accountId,
        reason: fields.reason,
      })
    },
    identityCallFailed(operation: string, cause: unknown, { requestId }: RequestMeta) {
      log.warn('identity server call failed', { request_id: requestId, operation, error: cause })
    },
    personalTokenCreated(fields: { id: string; accountId: string }, { requestId }: RequestMeta) {
      personal.inc({ action: 'created' })
      log.info('personal token created', {
        request_id: requestId,
        id: fields.id,
        account_id: fields.accountId,
      })
    },
    personalTokenRevoked(
      fields: { id: string; accountId: string; reason: string },
      { requestId }: RequestMeta,
    ) {
      personal.inc({ action: fields.reason })
      log.info('personal token revoked', {
        request_id: requestId,
        id: fields.id,
        account_id: fields.accountId,
        reason: fields.reason,
      })
    },
    cleaned(fields: Readonly<Record<string, number>>) {
      // The logger would redact a field named access_tokens like a token.
      log.info(
        'expired rows removed',
        Object.fromEntries(Object.entries(fields).map(([table, count]) => [`${table}_rows`, count])),
      )
    },
  }
}

export type Observer = ReturnType<typeof createObserver>
