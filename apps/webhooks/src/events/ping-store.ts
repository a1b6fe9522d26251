import type { Queryable } from '@signet/db'
import type { EndpointId, EventId } from '@signet/webhook-core'

/**
 * Queues a ping for one endpoint and returns `queued`. Stores nothing and returns `disabled` if the endpoint is disabled, or null if
 * the account has no such endpoint. The dispatcher checks again whether the endpoint is active.
 */
export async function insertPing(
  db: Queryable,
  ping: { eventId: EventId; accountId: string; endpointId: EndpointId },
): Promise<'queued' | 'disabled' | null> {
  const { rows } = await db.query<{ active: boolean }>(
    `with endpoint as (
       select id, account_id, status = 1 as active from webhook_endpoints
       where account_id = $2 and id = $3 and deleted_at is null
     ), event as (
       insert into webhook_events (id, account_id, type, target_endpoint_id, source)
       select $1, account_id, 'webhook.ping', id, 'test' from endpoint where active
     )
     select active from endpoint`,
    [ping.eventId, ping.accountId, ping.endpointId],
  )
  const [endpoint] = rows
  if (endpoint === undefined) return null
  return endpoint.active ? 'queued' : 'disabled'
}
