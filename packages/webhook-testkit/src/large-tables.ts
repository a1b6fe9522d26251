import type { Db, Queryable } from '@signet/db'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'

// Tables large enough that the plan changes when the right index is missing: 5,000 live endpoints of 2,500 accounts and as many
// deleted ones, one in a thousand disabled, 30,000 events with one delivery and one attempt each, one in a thousand queued or pending.
const FILL = [
  `insert into webhook_endpoints (account_id, url, url_href, events, secret_ciphertext, secret_key_id)
   select md5('account' || n % 2500)::uuid, 'https://example.com/', 'https://example.com/',
     array['summary.completed'], '\\x00', 'k1'
   from generate_series(1, 5000) n`,
  `update webhook_endpoints set status = 2, disabled_at = now() where id % 1000 = 0`,
  `insert into webhook_endpoints (account_id, url, url_href, deleted_at)
   select md5('account' || n % 2500)::uuid, 'https://example.com/', 'https://example.com/', now() - make_interval(hours => n)
   from generate_series(1, 5000) n`,
  `insert into webhook_events (id, account_id, type, audio_id, source, source_event_key, source_hash, state, body, dispatched_at, created_at)
   select 'evt_' || lpad(to_hex(n), 12, '0') || substr(md5(n::text), 1, 20), md5('account' || n % 2500)::uuid,
     'summary.completed', 'rec_' || n, 'pipeline', 'key:' || n, sha256(n::text::bytea),
     case when n % 1000 = 0 then 'queued' else 'dispatched' end, case when n % 1000 <> 0 then '{}' end, now(),
     now() - make_interval(secs => 30000 - n)
   from generate_series(1, 30000) n`,
  `insert into webhook_deliveries (endpoint_id, event_id, event_type, status, delivered_at, next_attempt_at, created_at)
   select (select min(id) from webhook_endpoints) + n % 2500,
     'evt_' || lpad(to_hex(n), 12, '0') || substr(md5(n::text), 1, 20), 'summary.completed',
     case when n % 1000 = 1 then 0 else 1 end, case when n % 1000 <> 1 then now() end,
     case when n % 1000 = 1 then now() end, now() - make_interval(secs => 30000 - n)
   from generate_series(1, 30000) n`,
  `insert into webhook_first_attempts select id, now() from webhook_events order by id desc limit 100`,
  `insert into webhook_attempts (delivery_id, number, started_at, duration_ms, url_version)
   select id, 1, now(), 5, 1 from webhook_deliveries`,
  `insert into recordings (account_id, audio_id, title)
   select md5('account' || n % 2500)::uuid, 'rec_' || n, 'x' from generate_series(1, 30000) n`,
  `insert into transcripts (account_id, audio_id, text)
   select md5('account' || n % 2500)::uuid, 'rec_' || n, 'x' from generate_series(1, 30000) n`,
  `insert into summaries (account_id, audio_id, position, label, content, format)
   select md5('account' || n % 2500)::uuid, 'rec_' || n, 0, 'a', 'x', 'markdown' from generate_series(1, 30000) n`,
  `insert into account_states (account_id, signed_out_at)
   select md5('account' || n)::uuid, now() from generate_series(1, 2500) n`,
  `insert into webhook_recoveries (account_id, endpoint_id, what, since, until, state, matched, at_time)
   select account_id, id, 'failed', '-infinity', now(), case when id % 1000 = 1 then 'running' else 'done' end, 0, '-infinity'
   from webhook_endpoints where deleted_at is null`,
  `update webhook_deliveries set recovery_id = id where id % 10 = 0`,
  'vacuum analyze',
]

/** Fills the tables, and returns a hundred deliveries that have ended, and the endpoint and account of the first. */
export async function fillTables(db: Db): Promise<{
  accountId: string
  endpointId: EndpointId
  eventIds: EventId[]
  deliveryIds: DeliveryId[]
}> {
  for (const statement of FILL) await db.query(statement)
  const { rows } = await db.query<{
    id: DeliveryId
    event_id: EventId
    endpoint_id: EndpointId
    account_id: string
  }>(
    `select d.id, d.event_id, d.endpoint_id, e.account_id
     from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.status = 1 limit 100`,
  )
  const [first] = rows
  if (!first) throw new Error('no delivery')
  return {
    accountId: first.account_id,
    endpointId: first.endpoint_id,
    eventIds: rows.map(({ event_id }) => event_id),
    deliveryIds: rows.map(({ id }) => id),
  }
}

export type HotQuery = [name: string, run: (db: Queryable) => Promise<unknown>, indexes: string[]]

/** These hold only work in progress, or what needs attention, so reading all of them is fine. */
const SMALL = [
  'webhook_first_attempts',
  'webhook_first_attempts_pkey',
  'webhook_endpoints_disabled_idx',
  'webhook_queued_events',
  'webhook_queued_events_pkey',
]
/** Whether a full read of this table or index would take long. */
export const isLarge = (name: string): boolean => !SMALL.includes(name)
