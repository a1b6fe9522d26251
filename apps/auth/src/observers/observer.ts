import { RepeatedWarning, type Logger, type MetricsRegistry, type RequestMeta } from '@signet/telemetry'
import { Counter, Gauge } from 'prom-client'

export type Observer = ReturnType<typeof createObserver>

/** One function for each thing worth reporting. It writes the log line and the metric, so that they cannot drift apart. */
export function createObserver(log: Logger, registry: MetricsRegistry) {
  const { audited, cleanedUp, mails, mailErrors, mailRefusals, hashing, statuses, messages, givenUp } =
    createMetrics(registry)
  const limitRedis = new RepeatedWarning(log, 'the rate limit Redis is unreachable')
  let sharedLimitReported = false
  // Start at 0: if a series begins with a burst, Prometheus sees no increase.
  for (const action of ['login', 'login_failed', 'session_revoked']) audited.inc({ action }, 0)
  return {
    audited(payload: Readonly<{ action: string }>, { requestId, ip }: RequestMeta & { readonly ip: string }) {
      audited.inc({ action: payload.action })
      log.info('audit', { request_id: requestId, ...payload, ip_address: ip })
    },
    /** A session ended because an old refresh token was presented. */
    refreshTokenReused(sessionId: string, userId: string, { requestId }: RequestMeta) {
      log.warn('refresh token reuse: the session was ended', {
        request_id: requestId,
        session_id: sessionId,
        user_id: userId,
      })
    },
    /** A refresh took long, and its reuse interval still counts from the beginning of the refresh. */
    reuseIntervalKept(sessionId: string, error: unknown, { requestId }: RequestMeta) {
      log.warn('the reuse interval of a slow refresh could not be restarted', {
        request_id: requestId,
        session_id: sessionId,
        error,
      })
    },
    /** The specification and the client library read `create_user` in opposite ways (docs/specification.md#versions). */
    accountExpected({ requestId }: RequestMeta) {
      log.warn(
        'create_user was true for an unknown address, so nothing was sent; a versioned request would sign up',
        {
          request_id: requestId,
        },
      )
    },
    providerFailed(provider: string, error: unknown, { requestId }: RequestMeta) {
      log.error('sign-in through a provider failed', { request_id: requestId, provider, error })
    },
    cleanedUp(table: string, rows: number) {
      cleanedUp.inc(rows)
      if (rows > 0) log.info('cleaned up', { table, rows })
    },
    cleanUpFailed(error: unknown) {
      log.error('the clean-up failed; it runs again later', { error })
    },
    mailTried(type: string, outcome: 'sent' | 'failed') {
      mails.inc({ type })
      if (outcome === 'failed') mailErrors.inc({ type })
    },
    mailSkipped(kind: string, { requestId }: { readonly requestId: string }) {
      log.warn('an email was skipped: email is not configured', { request_id: requestId, kind })
    },
    mailSubjectUnusable(subject: string, error: unknown) {
      log.error('an email subject cannot be used', { subject, error })
    },
    /** `requestId` belongs to the request behind the email, if there is one. */
    mailTemplateUnavailable(url: string, error: unknown, requestId: string | undefined) {
      log.error('an email template could not be loaded', { request_id: requestId, url, error })
    },
    /** A request could not send an email because the quota was used up. */
    mailRefused({ route }: { readonly route: string }) {
      mailRefusals.inc({ path: route })
    },
    /** Starts the counter series at 0 instead of at the first failure. */
    messageKindKnown(kind: string, givenUpReasons: readonly string[]) {
      for (const outcome of ['sent', 'failed']) messages.inc({ kind, outcome }, 0)
      for (const reason of givenUpReasons) givenUp.inc({ kind, reason }, 0)
    },
    messageSent(kind: string) {
      messages.inc({ kind, outcome: 'sent' })
    },
    /** One failed attempt; the message is retried unless `messageGivenUp` follows. */
    messageAttemptFailed(
      kind: string,
      message: { id: string; attempts: number },
      requestId: string,
      error: unknown,
    ) {
      messages.inc({ kind, outcome: 'failed' })
      const { id: message_id, attempts: attempt } = message
      log.warn('a message could not be sent', { request_id: requestId, kind, message_id, attempt, error })
    },
    /** This message will never be delivered. The audit log says which one it was. */
    messageGivenUp(kind: string, reason: string) {
      givenUp.inc({ kind, reason })
    },
    /** Logs both ids, so that support can look up the message at the gateway. */
    smsTaken(id: string, gatewayId: string, requestId: string) {
      log.info('the gateway took an SMS', {
        request_id: requestId,
        message_id: id,
        gateway_message_id: gatewayId,
      })
    },
    outboxUnreachable(kind: string, error: unknown) {
      log.error('the outbox could not be read; its messages wait', { kind, error })
    },
    limitRedisUnreachable(error: Error) {
      limitRedis.warn(error)
    },
    limitRedisReady() {
      limitRedis.reset()
    },
    /** Reported only once, because it may happen with every request. */
    sharedLimitReached(requestId: string) {
      if (sharedLimitReported) return
      sharedLimitReported = true
      log.warn(
        'requests from a private address share one rate limit: if it is a proxy, see AUTH_SECURITY_FORWARDED_FOR_ENABLED',
        { request_id: requestId },
      )
    },
    hashing(operation: 'hash' | 'verify', phase: 'submitted' | 'completed') {
      hashing[operation][phase].inc()
    },
    answered(status: number, route: string) {
      statuses.inc({ code: status, http_route: route === '' ? 'unmatched' : route })
    },
    signingKeyCreated(kid: string, alg: string) {
      log.info('signing key created', { kid, alg })
    },
    /** Logged at the start, and whenever the signing key or the set of accepted keys changes. */
    signingKeysChanged(signer: string | undefined, published: readonly string[]) {
      log.info('signing keys', { signer: signer ?? 'AUTH_JWT_SECRET', published })
    },
    signingKeyUnreadable(kid: string) {
      log.warn('a signing key is not used: it was sealed with another AUTH_JWT_SECRET', { kid })
    },
    /** `what` names the kind of value and `id` its row. Whoever needs it has to begin again. */
    sealedElsewhere(what: string, id: string, { requestId }: RequestMeta) {
      log.warn(`${what} cannot be read: it was sealed with another AUTH_JWT_SECRET`, {
        request_id: requestId,
        id,
      })
    },
    signingKeysUnavailable(error: unknown) {
      log.warn('the signing keys could not be read', { error })
    },
    unsupportedVariable(name: string) {
      log.warn('a variable is set that this server does not support', { variable: name })
    },
    strayRedirectUri(name: string) {
      log.warn(
        'sign-ins through a provider cannot be completed: its callback URL has another scheme or host than AUTH_API_EXTERNAL_URL, and browsers do not send the cookie of the sign-in there',
        { variable: name },
      )
    },
    smsUnavailable() {
      log.warn('codes by SMS cannot be sent: AUTH_SMS_PROVIDER or its credentials are missing')
    },
    started(port: number) {
      log.info('listening', { port })
    },
  }
}

/**
 * The counters of docs/specification.md#tracing-and-metrics. Labels hold patterns and kinds, never ids or addresses.
 */
function createMetrics(registry: MetricsRegistry) {
  const counter = <L extends string = never>(name: string, help: string, ...labelNames: L[]) =>
    new Counter<L>({ name, help, labelNames, registers: [registry] })
  new Gauge({ name: 'auth_running', help: '1 while the server runs', registers: [registry] }).set(1)
  return {
    audited: counter('auth_audit_events_total', 'Audit log entries, by action', 'action'),
    cleanedUp: counter('auth_cleanup_affected_rows', 'Rows that the clean-up deleted'),
    mails: counter('global_auth_email_send_operations_total', 'Attempts to send an email, by kind', 'type'),
    mailErrors: counter(
      'global_auth_email_send_errors_total',
      'Attempts to send an email that failed, by kind',
      'type',
    ),
    mailRefusals: counter(
      'auth_email_rate_limit_counter',
      'Emails that the quota of the server refused, by route',
      'path',
    ),
    messages: counter(
      'auth_outbox_attempts_total',
      'Attempts to send a message of the outbox, by kind and outcome',
      'kind',
      'outcome',
    ),
    givenUp: counter(
      'auth_outbox_given_up_total',
      'Messages that were not delivered and never will be, by kind and reason',
      'kind',
      'reason',
    ),
    hashing: {
      hash: {
        submitted: counter('auth_generate_from_password_submitted', 'Passwords to hash'),
        completed: counter('auth_generate_from_password_completed', 'Passwords hashed'),
      },
      verify: {
        submitted: counter('auth_compare_hash_and_password_submitted', 'Passwords to check'),
        completed: counter('auth_compare_hash_and_password_completed', 'Passwords checked'),
      },
    },
    statuses: counter('http_status_codes', 'Answers, by status and route', 'code', 'http_route'),
  }
}
