import type { Db } from '@signet/db'

/** The account of the first token of `seedAccessTokens`. It has the endpoints whose logs are read. */
const ACCOUNT = `md5('account0')::uuid`

/** An endpoint and how many deliveries its log has. */
export type Log = { endpointId: string; rows: number }

/** One endpoint whose log has `rows` deliveries, and nothing else. */
export async function seedOneLog(db: Db, rows: number): Promise<Log> {
  const [endpointId] = await insertEndpoints(db, 1)
  await insertDeliveries(db, rows, `$1::bigint`, [endpointId])
  return { endpointId: String(endpointId), rows }
}

const ORDINARY = 5000

/**
 * Inserts `rows` deliveries of 30 days, distributed as if some customers were much larger than others: a fifth belongs to one
 * endpoint, a fifth to ten, and three fifths to 5,000.
 */
export async function seedManyLogs(db: Db, rows: number): Promise<{ largest: Log; ordinary: Log }> {
  const ids = await insertEndpoints(db, 11 + ORDINARY)
  await insertDeliveries(
    db,
    rows,
    `($1::bigint[])[case n % 5 when 0 then 1 when 1 then 2 + n / 5 % 10 else 12 + (n / 5 * 3 + n % 5 - 2) % ${ORDINARY} end]`,
    [ids],
  )
  const log = async (endpointId: string | undefined): Promise<Log> => {
    const { rows: found } = await db.query<{ count: number }>(
      `select count(*)::integer as count from webhook_deliveries where endpoint_id = $1`,
      [endpointId],
    )
    return { endpointId: String(endpointId), rows: found[0]?.count ?? 0 }
  }
  return { largest: await log(ids[0]), ordinary: await log(ids[11]) }
}

/** Inserts endpoints of one account. The API would allow only five, but nothing here counts them. */
async function insertEndpoints(db: Db, count: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `insert into webhook_endpoints (account_id, url, url_href, events, secret_ciphertext, secret_key_id)
     select ${ACCOUNT}, 'https://example.com/', 'https://example.com/', array['summary.completed'], '\\x00', 'bench'
     from generate_series(1, $1::integer)
     returning id`,
    [count],
  )
  return rows.map(({ id }) => id)
}

/**
 * Inserts deliveries 1 to `rows` in order of time, the last of them now: one in a thousand pending, one in a hundred failed.
 * `endpoint` says which endpoint delivery `n` belongs to. The log does not read events, so there are none. The indexes are
 * built at the end, because otherwise filling would take an hour.
 */
async function insertDeliveries(
  db: Db,
  rows: number,
  endpoint: string,
  values: readonly unknown[],
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    await tx.query("set local maintenance_work_mem = '1GB'")
    const { rows: indexes } = await tx.query<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
       where indrelid = 'webhook_deliveries'::regclass and not indisprimary`,
    )
    for (const { name } of indexes) await tx.query(`drop index ${name}`)
    await tx.query(
      `insert into webhook_deliveries
         (endpoint_id, event_id, event_type, status, attempts, last_error, next_attempt_at, delivered_at, created_at)
       select ${endpoint},
         'evt_' || lpad(to_hex((1000 * extract(epoch from at))::bigint), 12, '0') || left(md5(n::text), 20),
         'summary.completed', status, 1, case status when 1 then '' else 'http_500' end,
         case status when 0 then now() end, case status when 1 then at end, at
       from generate_series(1, $2::integer) n,
         lateral (select case when n % 1000 = 7 then 0 when n % 100 = 7 then 2 else 1 end as status,
           now() - ($2::integer - n) * (interval '30 days' / $2::integer) as at) as made`,
      [...values, rows],
    )
    for (const { definition } of indexes) await tx.query(definition)
  })
  await db.query('vacuum analyze webhook_deliveries')
  // Writes the filled pages to disk now, so that this does not happen during a measurement.
  await db.query('checkpoint')
}
