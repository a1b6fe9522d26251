import type { Queryable, Tx } from '@signet/db'
import type { DeliveryId, EndpointId } from '../ids.js'

/**
 * Writes the account's tombstone, which is permanent (decision 0142). Waits for transactions that are writing the account's rows; later
 * ones are refused. Commit soon, because later writers wait for it.
 */
export async function writeTombstone(tx: Tx, accountId: string, deletedAt: Date): Promise<void> {
  await tx.query(
    `select set_config('idle_in_transaction_session_timeout', '10s', true), pg_advisory_xact_lock(1, account_lock($1))`,
    [accountId],
  )
  await tx.query(
    `insert into account_states (account_id, deleted_at) values ($1, $2)
     on conflict (account_id) do update set deleted_at = coalesce(account_states.deleted_at, excluded.deleted_at)`,
    [accountId, deletedAt],
  )
}

/** Rows per statement. Any number of deliveries may be held, and a statement has a time limit. */
const PAGE = 1000

/**
 * Reschedules deliveries held until `from`, because the ban was lifted or its end changed. Call it in the transaction that changes
 * the ban, after that change. Returns how many were moved.
 */
export async function moveHeldDeliveries(
  tx: Tx,
  { accountId, from, to }: { accountId: string; from: string; to: string },
  pageSize = PAGE,
): Promise<number> {
  let moved = 0
  for (let after: string | undefined = '0'; after !== undefined;) {
    const { rows }: { rows: { last: string | null; moved: number }[] } = await tx.query(
      // Endpoints before deliveries, each by ascending id (packages/webhook-core/README.md#lock-order).
      `with endpoint as materialized (
         select id from webhook_endpoints where account_id = $1 and deleted_at is null order by id for no key update
       ), delivery as materialized (
         select id from webhook_deliveries
         where next_attempt_at = $2::timestamptz and id > $4 and endpoint_id = any (array(select id from endpoint))
         order by id limit $5 for no key update
       ), moved as (
         update webhook_deliveries set next_attempt_at = $3::timestamptz
         where id = any (array(select id from delivery)) and status = 0
         returning id
       )
       select (select max(id) from delivery) as last, (select count(*)::integer from moved) as moved`,
      [accountId, from, to, after, pageSize],
    )
    moved += rows[0]?.moved ?? 0
    after = rows[0]?.last ?? undefined
  }
  return moved
}

export type ReleasedDelivery = { id: DeliveryId; endpointId: EndpointId; accountId: string }

/** Yields the deliveries that {@link moveHeldDeliveries} has made due at `dueAt`, page by page. */
export async function* releasedDeliveries(
  db: Queryable,
  { accountId, dueAt }: { accountId: string; dueAt: string },
  pageSize = PAGE,
): AsyncGenerator<ReleasedDelivery[]> {
  for (let after: string | undefined = '0'; after !== undefined;) {
    const { rows }: { rows: { id: DeliveryId; endpoint_id: EndpointId }[] } = await db.query(
      `select id, endpoint_id from webhook_deliveries
       where next_attempt_at = $2::timestamptz and id > $3
         and endpoint_id = any (array(select id from webhook_endpoints where account_id = $1))
       order by id limit $4`,
      [accountId, dueAt, after, pageSize],
    )
    if (rows.length > 0) yield rows.map(({ id, endpoint_id }) => ({ id, endpointId: endpoint_id, accountId }))
    after = rows.at(-1)?.id
  }
}

/** Endpoints of the account, live or deleted. Both cases are spelled out because each has its own partial index. */
const OF_ACCOUNT = `account_id = $1 and (deleted_at is null or deleted_at is not null)`
/** Starts from the account's own rows, because other accounts may have millions of deliveries. */
const DELIVERIES = `
  select d.id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id where e.${OF_ACCOUNT}
  union
  select d.id from webhook_events v join webhook_deliveries d on d.event_id = v.id where v.account_id = $1`

/** Tables without an `account_id`, each with the query that counts an account's rows in it. */
const DERIVED = {
  oauth_authorizations: `select count(*) from oauth_authorizations a join login_sessions s on s.id_hash = a.session_hash
    where s.account_id = $1`,
  oauth_codes:
    'select count(*) from oauth_codes c join oauth_grants g on g.id = c.grant_id where g.account_id = $1',
  oauth_refresh_tokens: `select count(*) from oauth_refresh_tokens r join oauth_grants g on g.id = r.grant_id
    where g.account_id = $1`,
  page_submissions: `select count(*) from page_submissions p join login_sessions s on s.id_hash = p.session_hash
    where s.account_id = $1`,
  page_handovers: `select count(*) from page_handovers h join login_sessions s on s.id_hash = h.session_hash
    where s.account_id = $1`,
  webhook_deliveries: `select count(*) from (${DELIVERIES}) as owned`,
  webhook_attempts: `select count(*) from (${DELIVERIES}) as owned join webhook_attempts a on a.delivery_id = owned.id`,
  webhook_endpoint_warnings: `select count(*) from webhook_endpoint_warnings w join webhook_endpoints e on e.id = w.endpoint_id
    where e.${OF_ACCOUNT}`,
  webhook_first_attempts: `select count(*) from webhook_first_attempts f join webhook_events e on e.id = f.event_id
    where e.account_id = $1`,
  webhook_queued_events: `select count(*) from webhook_queued_events q join webhook_events e on e.id = q.event_id
    where e.account_id = $1`,
} satisfies Record<string, string>

/**
 * Counts the rows of an account in each table. Finds the tables by their column `account_id`, so that a new one is not forgotten.
 * Leaves out `account_states`, because the tombstone stays.
 */
export async function countAccountRows(
  db: Queryable,
  accountId: string,
): Promise<Readonly<Record<string, number>>> {
  const { rows: tables } = await db.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = current_schema() and c.column_name = 'account_id' and t.table_type = 'BASE TABLE'
       and c.table_name <> 'account_states'`,
  )
  const queries = [
    ...tables.map(({ name }): [string, string] => [
      name,
      `select count(*) from ${name} where account_id = $1`,
    ]),
    ...Object.entries(DERIVED),
  ].sort(([one], [other]) => (one < other ? -1 : 1))
  const counts: Record<string, number> = {}
  for (const [name, text] of queries) {
    const { rows } = await db.query<{ count: string }>(text, [accountId])
    counts[name] = Number(rows[0]?.count ?? 0)
  }
  return counts
}
