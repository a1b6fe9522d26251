import { FAILURES_TO_DISABLE, FAILURES_TO_WARN } from '@signet/webhook-core'

// The highest threshold that the failures of a row reached in this batch.
const WARNS_AT = FAILURES_TO_WARN.toReversed()
  .map((at) => `when failures >= ${at} and (streak > 0 or consecutive_failures < ${at}) then ${at}`)
  .join('\n        ')

/** Columns of the results and their types. Each is one array parameter, which the statement names `$column`. */
const RESULT_COLUMNS = {
  delivery_id: 'bigint',
  endpoint_id: 'bigint',
  number: 'integer',
  delivered: 'boolean',
  counts: 'boolean',
  error: 'text',
  retry_at: 'timestamptz',
  url_version: 'integer',
  started_at: 'timestamptz',
  finished_at: 'timestamptz',
  duration_ms: 'integer',
  http_status: 'smallint',
  exchange: 'json',
  answer: 'text',
  event_id: 'text',
  key: 'bigint',
}
const FIRST_RESULT_COLUMNS = { ...RESULT_COLUMNS, event_type: 'text', created_at: 'timestamptz' }
/** Not a column: the events that have all of their deliveries with these results. */
const COMPLETE_EVENTS = { complete_event_id: 'text' }

/** What differs between deliveries that have a row and those that get it with their first result (decisions 0011 and 0255). */
type Rows = {
  columns: Readonly<Record<string, string>>
  /** CTE `delivery`, the state before the results, after the CTEs that lock other rows first. */
  delivery: string
  /** CTE that writes the states of the deliveries. */
  states: string
}

// Locks by ascending id (packages/webhook-core/README.md#lock-order).
const ENDPOINT = (after: string) => `
  endpoint as materialized (
    select id, status, consecutive_failures, failing_since, url_version, deleted_at from webhook_endpoints
    where id = any ($endpoint_id)${after}
    order by id for no key update
  ),`

const EXISTING: Rows = {
  columns: RESULT_COLUMNS,
  delivery: `${ENDPOINT('')}
  delivery as materialized (
    select id, endpoint_id, event_id, status, attempts, last_error, next_attempt_at from webhook_deliveries
    where id = any ($delivery_id) and (select count(*) from endpoint) > 0
    order by id for no key update
  ),`,
  states: `
  delivery_states as (
    update webhook_deliveries d set
      status = n.status, attempts = n.attempts, last_error = n.last_error,
      next_attempt_at = case when n.status = 0 then n.retry_at end,
      delivered_at = case when n.status = 1 then n.finished_at end
    from next n where d.id = n.delivery_id and n.changes and d.id = any ($delivery_id)
  ),`,
}

// The lock on the event prevents its deletion, and two processes from writing its deliveries concurrently. The statement leaves out a
// delivery that another process has written already. It fails if another process writes one meanwhile, because a failure would count
// twice.
const NEW: Rows = {
  columns: FIRST_RESULT_COLUMNS,
  delivery: `
  event as materialized (
    select id, state from webhook_events where id = any ($event_id) order by id for no key update
  ),${ENDPOINT(' and (select count(*) from event) > 0')}
  delivery as materialized (
    select r.delivery_id as id, r.endpoint_id, r.event_id, case v.state when 'purged' then 2 else 0 end as status, 0 as attempts,
      case v.state when 'purged' then 'recording_deleted' else '' end as last_error, null::timestamptz as next_attempt_at
    from result r join event v on v.id = r.event_id
    where (select count(*) from endpoint) > 0 and not exists (
      select from webhook_deliveries d
      -- "+ 0" hides the column from the planner: a plan made while the table is small would otherwise scan the endpoint's whole log.
      where d.event_id = r.event_id and d.endpoint_id + 0 = r.endpoint_id and d.replay = 0
      offset 0
    )
  ),
  dispatched as (
    update webhook_events set state = 'dispatched', dispatched_at = now()
    where id = any ($complete_event_id) and state not in ('dispatched', 'purged')
  ),`,
  states: `
  written as (
    insert into webhook_deliveries (id, endpoint_id, event_id, event_type, status, attempts, last_error, next_attempt_at,
      delivered_at, created_at) overriding system value
    select n.delivery_id, n.endpoint_id, r.event_id, r.event_type, n.status, n.attempts, n.last_error,
      case when n.status = 0 then n.retry_at end, case when n.status = 1 then n.finished_at end, r.created_at
    from next n join result r using (delivery_id)
    order by n.delivery_id
  ),`,
}

// Locks the endpoints, then the deliveries, each by ascending id (packages/webhook-core/README.md#lock-order). Evaluates the
// results one after the other in the given order, as if each had arrived alone, and writes. It is one statement because a
// process that froze between two would keep a busy endpoint locked.
//
// A delivery, by what was decided about its attempt (attempts/retry-decision.ts). Only here does a retry end as failed:
//
//   from       by                                                            to
//   no row     any result, when the event was purged                         as from failed, `recording_deleted`
//   no row     any other result                                              as from pending
//   pending    success                                                       delivered
//   pending    retry, endpoint active                                        pending, due at retry_at
//   pending    retry, endpoint deleted or disabled, also by this failure     failed, with its own error
//   pending    retry, endpoint disabled by a later result of the batch       failed, `endpoint_disabled`
//   pending    no attempt left                                               failed, with its own error
//   failed     success                                                       delivered
//   failed     failure                                                       failed; its error replaces only `endpoint_disabled`
//   delivered  any result                                                    delivered
//   any        failure with a number that is already recorded (`reported`)   unchanged
//
// An endpoint goes from active to disabled by the 20th consecutive failure, an event from queued to dispatched when its last delivery
// gets a row.
//
// A result counts only for a delivery of its own event and endpoint. Ids are drawn before they are durable, so after a failover the
// sequence may issue one again. A first result whose id is taken fails the statement, and the event gets other ids.
//
// strike: this failure counts toward disabling the endpoint. A success starts a new streak. reported: an attempt with this number
// has been recorded; only the first changes the schedule and the failures. It may have been this one or, after a lost job lock, another
// process's, which is for `countRepeatedAttempt` to find out. warns_at: the highest threshold that the failures of this batch
// reached, so that an endpoint gets one warning from it.
function textOf({ columns, delivery, states }: Rows): string {
  const names = Object.keys(columns)
  return `
  with result as materialized (
    select * from unnest(
      ${names.map((name) => `$${name}`).join(', ')}
    ) with ordinality as r (
      ${names.join(', ')}, ord
    )
  ),${delivery}
  evaluated as (
    select r.*, d.status as status_before, d.attempts as attempts_before, d.last_error as error_before,
      d.next_attempt_at as due_before,
      d.attempts >= r.number as reported,
      e.status = 2 as disabled_before, e.deleted_at is not null as deleted, e.consecutive_failures,
      e.failing_since,
      not r.delivered and r.counts and r.url_version = e.url_version and d.attempts < r.number as strike,
      count(*) filter (where r.delivered) over (partition by r.endpoint_id order by r.ord) as streak
    from result r
    join delivery d on d.id = r.delivery_id and d.endpoint_id = r.endpoint_id and d.event_id = r.event_id
    join endpoint e on e.id = r.endpoint_id
  ),
  counted as (
    select *,
      case when streak = 0 then consecutive_failures else 0 end
        + count(*) filter (where strike) over (partition by endpoint_id, streak order by ord) as failures,
      min(finished_at) filter (where strike) over (partition by endpoint_id, streak order by ord) as first_failure
    from evaluated
  ),
  classified as materialized (
    select *,
      disabled_before or deleted
        or bool_or(strike and failures >= ${FAILURES_TO_DISABLE}) over (partition by endpoint_id order by ord) as dead
    from counted
  ),
  tally as materialized (
    select distinct on (endpoint_id) endpoint_id, failures::integer as failures,
      case
        when failures = 0 then null
        when streak = 0 then coalesce(failing_since, first_failure)
        else first_failure
      end as failing_since,
      dead and not disabled_before and not deleted as disables,
      case
        when disabled_before or deleted then null
        when dead then ${FAILURES_TO_DISABLE}
        ${WARNS_AT}
      end as warns_at
    from classified order by endpoint_id, ord desc
  ),
  next as materialized (
    select c.delivery_id, c.endpoint_id, c.finished_at, c.retry_at, c.due_before, t.disables, c.reported,
      greatest(c.attempts_before, c.number) as attempts,
      case
        when c.delivered then 1
        when c.status_before <> 0 or c.reported then c.status_before
        when c.retry_at is null or c.dead or t.disables then 2
        else 0
      end as status,
      case
        when c.delivered or c.status_before = 1 or c.reported then c.error_before
        when c.status_before = 2 and c.error_before <> 'endpoint_disabled' then c.error_before
        when c.status_before = 0 and t.disables and not c.dead and c.retry_at is not null then 'endpoint_disabled'
        else c.error
      end as last_error,
      case when c.delivered then c.status_before <> 1 else c.status_before <> 1 and not c.reported end as changes
    from classified c join tally t using (endpoint_id)
  ),
  endpoint_counters as (
    update webhook_endpoints e set
      consecutive_failures = t.failures,
      failing_since = t.failing_since,
      status = case when t.disables then 2 else e.status end,
      disabled_at = case when t.disables then clock_timestamp() else e.disabled_at end,
      disabled_reason = case
        when t.disables then (
          select c.error from classified c
          where c.endpoint_id = t.endpoint_id and c.strike and c.failures >= ${FAILURES_TO_DISABLE}
          order by c.ord limit 1
        )
        else e.disabled_reason
      end,
      updated_at = greatest(clock_timestamp(), e.updated_at)
    from tally t where e.id = t.endpoint_id and e.id = any ($endpoint_id)
  ),
  ${states.trim()}
  warnings as (
    insert into webhook_endpoint_warnings
      (endpoint_id, threshold, day, failures, last_error, failed_at, failing_since)
    select t.endpoint_id, t.warns_at, (clock_timestamp() at time zone 'utc')::date,
      greatest(t.failures, t.warns_at), last.error, last.finished_at, t.failing_since
    from tally t cross join lateral (
      select c.error, c.finished_at from classified c
      where c.endpoint_id = t.endpoint_id and c.strike order by c.ord desc limit 1
    ) as last
    where t.warns_at is not null
    on conflict (endpoint_id, threshold, day) do nothing
  ),
  attempt_log as (
    insert into webhook_attempts
      (delivery_id, number, started_at, duration_ms, http_status, error, url_version, exchange, answer, key)
    select delivery_id, number, started_at, duration_ms, http_status, coalesce(error, ''), url_version, exchange,
      case
        when error_before = 'recording_deleted' then null
        -- The event may have been purged after another attempt had ended the delivery.
        when status_before = 0 or (select v.state from webhook_events v where v.id = event_id) <> 'purged' then answer
      end, key
    from classified where not reported
    on conflict (delivery_id, number) do nothing
  )
  select n.delivery_id, n.status, n.last_error, n.attempts, n.disables, n.reported,
    case when n.status = 0 then case when n.changes then n.retry_at else n.due_before end end as next_attempt_at
  from next n`
}

/** Numbers the parameters that the text names, and takes their values by name: no caller can put them into a wrong order. */
function statement<Name extends string>(
  name: string,
  parameters: Readonly<Record<Name, string>>,
  text: string,
) {
  const types = Object.entries<string>(parameters)
  const numberOf = new Map(types.map(([parameter], i) => [parameter, i + 1]))
  const numbered = text.replace(/\$([a-z_]+)/g, (_, parameter: string) => {
    const number = numberOf.get(parameter)
    if (number === undefined) throw new RangeError(`no parameter ${parameter}`)
    return `$${number}::${types[number - 1]?.[1]}[]`
  })
  return {
    // Named, so that each connection parses and plans it only once.
    query: { name, text: numbered },
    valuesOf: (values: Readonly<Record<Name, readonly unknown[]>>): (readonly unknown[])[] =>
      types.map(([parameter]) => values[parameter as Name]),
  }
}

export type ResultColumns = Readonly<Record<keyof typeof RESULT_COLUMNS, readonly unknown[]>>
export const RECORD_ATTEMPTS = statement('record-attempts', RESULT_COLUMNS, textOf(EXISTING))
export const RECORD_FIRST_ATTEMPTS = statement(
  'record-first-attempts',
  { ...FIRST_RESULT_COLUMNS, ...COMPLETE_EVENTS },
  textOf(NEW),
)
