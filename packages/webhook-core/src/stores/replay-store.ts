// A replay is a new delivery of the same event. Operators, owners and recoveries choose what to send again in different ways, but all
// create it here (infra/decisions/0067-a-replay-is-a-new-delivery.md).

/**
 * Parts of a `with` that turn `chosen` (event_id, endpoint_id, event_type) into new pending deliveries, `created`. `due` and `recovery`
 * are expressions.
 */
export const creatingReplays = ({ due, recovery = 'null::bigint' }: { due: string; recovery?: string }) => `
  -- Retention either waits for the new deliveries, or has deleted the events and leaves nothing to replay.
  held as materialized (
    select id from webhook_events where id = any (array(select event_id from chosen)) order by id for key share
  ),
  created as (
    insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at, recovery_id, replay)
    select chosen.endpoint_id, chosen.event_id, chosen.event_type, ${due}, ${recovery}, (
      select max(d.replay) + 1 from webhook_deliveries d
      where d.event_id = chosen.event_id and d.endpoint_id = chosen.endpoint_id
    )
    from chosen where chosen.event_id = any (array(select id from held))
    -- If another request sends it at the same moment, one new delivery is enough.
    on conflict (event_id, endpoint_id, replay) do nothing
    returning id, endpoint_id, event_id
  )`

export type RecoveryScope = 'failed' | 'all'

/**
 * The condition for a recovery to send delivery `d` again: it is the last one of its event before `until`, and none is pending or, if
 * only failures are wanted, successful.
 */
export const isRecoverable = (what: RecoveryScope, until: string): string => `
  ${what === 'failed' ? 'd.failed' : 'd.status <> 0'} and not exists (
    select from webhook_deliveries o
    where o.event_id = d.event_id and o.endpoint_id = d.endpoint_id
      and (${what === 'failed' ? 'o.status in (0, 1)' : 'o.status = 0'} or o.replay > d.replay and o.created_at < ${until})
  )`
