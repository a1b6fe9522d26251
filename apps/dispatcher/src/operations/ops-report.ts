import { deliveryStatus, endpointStatus } from '@signet/webhook-core'
import type { DeliveryReport, DisabledEndpoint } from './operator-store.js'
import type { Replayable } from './replay-store.js'
import { exitCode } from './ops-error.js'
import type { AccountReport, Inspected, Status } from './operations.js'
import { isInFirstAttempt, withoutQuery } from './reading.js'

/** What a command prints: text for people, or the same facts as JSON for scripts. */
export type Report = { text: string; json: object; exitCode?: number }

export function statusReport(status: Status): Report {
  const { switch: decided, backlog, undispatched, busiest, disabledEndpoints, queues, actions } = status
  const lines = [
    decided.paused
      ? `Paused since ${iso(decided.since)} by ${decided.operator}: ${decided.reason}`
      : 'Delivering',
    `Undispatched events: ${capped(undispatched.events)}${oldest(undispatched.oldestAt)}`,
    `Pending deliveries: ${capped(backlog.pending)}, due now ${capped(backlog.due)}${oldest(backlog.oldestDueAt)}`,
    ...busiest.map(({ endpointId, pending }) => `  endpoint ${endpointId}: ${capped(pending)}`),
    `Disabled endpoints: ${disabledEndpoints}`,
    ...(queues
      ? Object.entries(queues).map(
          ([name, { waiting, active, delayed, workers }]) =>
            `Queue ${name}: ${waiting} jobs waiting, ${active} in flight, ${delayed} delayed; ${workers} workers`,
        )
      : ['Queues: Redis does not respond']),
    ...(actions.length > 0 ? ['', 'Recent actions:'] : []),
    ...actions.map(
      ({ at, operator, action, reason }) => `  ${iso(at)}  ${action.padEnd(7)} ${operator}: ${reason}`,
    ),
  ]
  return { text: lines.join('\n'), json: status }
}

/** Exits with 1 while a row is left, so that a script that deletes accounts can tell. */
export function accountReport({ accountId, state, rows }: AccountReport, now: Date): Report {
  const left = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const lines = [
    `Account ${accountId}: ${accountState(state, now)}`,
    ...Object.entries(rows).map(([table, count]) => `  ${table.padEnd(24)} ${count}`),
    left === 0 ? 'Nothing of it is left.' : `Rows left: ${left}`,
  ]
  return {
    text: lines.join('\n'),
    json: { account_id: accountId, state, rows, left },
    ...(left > 0 ? { exitCode: exitCode.failed } : {}),
  }
}

function accountState(state: AccountReport['state'], now: Date): string {
  if (state?.deletedAt)
    return `deleted ${iso(state.deletedAt)}${state.purgedAt ? `, removed ${iso(state.purgedAt)}` : ', being removed'}`
  if (state?.bannedUntil && state.bannedUntil > now) return `banned until ${iso(state.bannedUntil)}`
  return 'in use, or unknown here'
}

export function disabledReport(found: readonly DisabledEndpoint[]): Report {
  const lines = found.map(
    ({ endpointId, accountId, at, lastError }) =>
      `endpoint ${endpointId} of account ${accountId}: disabled ${iso(at)}, last failure ${lastError || 'unknown'}`,
  )
  return { text: lines.join('\n') || 'None.', json: found }
}

export function previewReport(found: readonly Replayable[], limit: number): Report {
  const more = found.length === limit ? ' or more' : ''
  const lines = [
    `Would send again: ${found.length}${more}`,
    ...found
      .slice(0, 20)
      .map(
        ({ deliveryId, endpointId, eventId }) =>
          `  delivery ${deliveryId} of ${eventId} to endpoint ${endpointId}`,
      ),
    ...(found.length > 20 ? ['  …'] : []),
  ]
  return { text: lines.join('\n'), json: { dry_run: true, deliveries: found } }
}

export function deliveryReport({ delivery, attempts, job }: Inspected): Report {
  const { event, endpoint, others } = delivery
  const url = withoutQuery(endpoint.url)
  const lines = [
    `Delivery ${delivery.id}: ${stateOf(delivery)}, ${delivery.attempts} attempts${delivery.lastError && `, last failure ${delivery.lastError}`}`,
    `  created ${iso(delivery.createdAt)}${delivery.replay > 0 ? `, replay ${delivery.replay}` : ''}`,
    ...(delivery.nextAttemptAt ? [`  next attempt ${iso(delivery.nextAttemptAt)}, job: ${job}`] : []),
    ...(isInFirstAttempt(delivery) ? [`  first attempt, under its event's job: ${job}`] : []),
    ...(delivery.deliveredAt ? [`  delivered ${iso(delivery.deliveredAt)}`] : []),
    `Event ${event.id}: ${event.type}, ${event.state}, ${event.bytes} bytes, created ${iso(event.createdAt)}`,
    ...(event.unconverted === null ? [] : [`  with HTML that was not converted: ${event.unconverted}`]),
    `Endpoint ${endpoint.id} of account ${endpoint.accountId}: ${endpointState(delivery)}, ${endpoint.consecutiveFailures} consecutive failures`,
    `  ${url}`,
    ...others.map(
      ({ id, replay, status }) => `Also delivery ${id}, replay ${replay}: ${STATUS_TEXT[status]}`,
    ),
    ...(attempts.length > 0 ? ['Attempts:'] : []),
    ...attempts.map(
      ({ number, startedAt, durationMs, httpStatus, error, facts }) =>
        `  ${number}  ${iso(startedAt)}  ${String(durationMs).padStart(5)} ms  ${httpStatus ?? '-'}  ${facts.tls_problem ?? (error || 'delivered')}`,
    ),
  ]
  return {
    text: lines.join('\n'),
    json: { ...delivery, endpoint: { ...endpoint, url }, job, attempt_log: attempts.map(withoutAnswer) },
  }
}

const STATUS_TEXT = {
  [deliveryStatus.pending]: 'pending',
  [deliveryStatus.delivered]: 'delivered',
  [deliveryStatus.failed]: 'failed',
} as const

const stateOf = ({ status }: DeliveryReport) => STATUS_TEXT[status]

export function endpointState({ endpoint }: DeliveryReport): string {
  if (endpoint.deletedAt) return `deleted ${iso(endpoint.deletedAt)}`
  return endpoint.status === endpointStatus.active ? 'active' : `disabled since ${iso(endpoint.disabledAt)}`
}

/** Output of commands ends up in tickets, and a response may repeat the payload. */
const withoutAnswer = ({ answer: _, ...attempt }: Inspected['attempts'][number]) => attempt

const oldest = (at: Date | null) => (at ? `, the oldest since ${iso(at)}` : '')
const iso = (at: Date | null) => at?.toISOString() ?? ''
const capped = (count: number) => (count >= 100_000 ? '100000 or more' : String(count))
