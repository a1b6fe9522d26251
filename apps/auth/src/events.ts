import { type Logger, type MetricsRegistry } from '@signet/telemetry'
import { Counter } from 'prom-client'
import { type AuditPayload } from './audit/audit.js'

export type Events = ReturnType<typeof createEvents>

/** One function for each business event: log line and metric together, so that they cannot drift apart. */
export function createEvents(log: Logger, registry: MetricsRegistry) {
  const audited = new Counter({
    name: 'auth_audit_events_total',
    help: 'Audit log entries, by action',
    labelNames: ['action'],
    registers: [registry],
  })
  const cleanedUp = new Counter({
    name: 'auth_cleanup_affected_rows',
    help: 'Rows that the clean-up deleted',
    registers: [registry],
  })
  return {
    audited(payload: AuditPayload, ip: string) {
      audited.inc({ action: payload.action })
      log.info('audit', { ...payload, ip_address: ip })
    },
    /** The family of a refresh token was revoked because an old token came back. */
    refreshTokenReused(sessionId: string, userId: string) {
      log.warn('refresh token reuse: the session was ended', { session_id: sessionId, user_id: userId })
    },
    cleanedUp(table: string, rows: number) {
      cleanedUp.inc(rows)
      if (rows > 0) log.info('cleaned up', { table, rows })
    },
    cleanUpFailed(error: unknown) {
      log.error('the clean-up failed; it runs again later', { error })
    },
    unsupportedVariable(name: string) {
      log.warn('a variable is set that this server does not support', { variable: name })
    },
    started(port: number) {
      log.info('listening', { port })
    },
  }
}
