import { type Logger, type MetricsRegistry } from '@signet/telemetry'
import { Counter, Gauge } from 'prom-client'
import { type AuditPayload } from './audit/audit.js'
import { type MailKind, type NoticeKind } from './mail/kinds.js'
import { type HashJob } from './passwords/hash-job.js'
import { type RequestMeta } from './requests/request-meta.js'

export type Events = ReturnType<typeof createEvents>

/** One function for each business event: log line and metric together, so that they cannot drift apart. */
export function createEvents(log: Logger, registry: MetricsRegistry) {
  const { audited, cleanedUp, mails, mailErrors, mailRefusals, hashing, statuses } = createMetrics(registry)
  return {
    audited(payload: AuditPayload, { requestId, ip }: RequestMeta) {
      audited.inc({ action: payload.action })
      log.info('audit', { request_id: requestId, ...payload, ip_address: ip })
    },
    /** The family of a refresh token was revoked because an old token came back. */
    refreshTokenReused(sessionId: string, userId: string, { requestId }: RequestMeta) {
      log.warn('refresh token reuse: the session was ended', {
        request_id: requestId,
        session_id: sessionId,
        user_id: userId,
      })
    },
    cleanedUp(table: string, rows: number) {
      cleanedUp.inc(rows)
      if (rows > 0) log.info('cleaned up', { table, rows })
    },
    cleanUpFailed(error: unknown) {
      log.error('the clean-up failed; it runs again later', { error })
    },
    mailTried(type: MailKind | NoticeKind, outcome: 'sent' | 'failed') {
      mails.inc({ type })
      if (outcome === 'failed') mailErrors.inc({ type })
    },
    /** The quota of the whole server was used up when the request at hand wanted to send a mail. */
    mailRefused({ route }: RequestMeta) {
      mailRefusals.inc({ path: route })
    },
    hashing(operation: HashJob['kind'], phase: 'submitted' | 'completed') {
      hashing[operation][phase].inc()
    },
    answered(status: number, route: string) {
      statuses.inc({ code: status, http_route: route === '' ? 'unmatched' : route })
    },
    unsupportedVariable(name: string) {
      log.warn('a variable is set that this server does not support', { variable: name })
    },
    /** Not a reason to stay down: the other ways in work, and `/authorize` refuses this one. */
    providerIncomplete(provider: string, missing: readonly string[]) {
      log.warn('a provider is switched on and lacks settings', { provider, missing })
    },
    smsUnavailable() {
      log.warn('codes by SMS cannot be sent: AUTH_SMS_PROVIDER or its credentials are missing')
    },
    started(port: number) {
      log.info('listening', { port })
    },
  }
}

/** The counters of contract 12.5, by its names. Labels hold patterns and kinds, never ids or addresses. */
function createMetrics(registry: MetricsRegistry) {
  const counter = <L extends string = never>(name: string, help: string, ...labelNames: L[]) =>
    new Counter<L>({ name, help, labelNames, registers: [registry] })
  new Gauge({ name: 'auth_running', help: '1 while the server runs', registers: [registry] }).set(1)
  return {
    audited: counter('auth_audit_events_total', 'Audit log entries, by action', 'action'),
    cleanedUp: counter('auth_cleanup_affected_rows', 'Rows that the clean-up deleted'),
    mails: counter('global_auth_email_send_operations_total', 'Mails that were tried, by kind', 'type'),
    mailErrors: counter(
      'global_auth_email_send_errors_total',
      'Mails that could not be sent, by kind',
      'type',
    ),
    mailRefusals: counter(
      'auth_email_rate_limit_counter',
      'Mails that the quota of the server refused, by route',
      'path',
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
