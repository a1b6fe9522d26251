import type { Db } from '@signet/db'

/** What `fillHistory` made. */
export type History = {
  events: number
  /** End of the oldest part, whose events have one delivery. */
  singlesUntil: Date
  /** End of the rest, whose events have five. */
  fivesUntil: Date
}

const KEEP_MS = 30 * 24 * 60 * 60 * 1000
const ACCOUNTS = 1000
const FAN_OUT = 5
/** One event in ten belongs to the first account, so each of its endpoints has a fiftieth of all deliveries. */
const LARGEST = 10

/** Indexes that are not in the order in which rows are inserted. All others grow at their right edge while the tables are filled. */
const OUT_OF_ORDER = [
  'webhook_deliveries_log_idx',
  'webhook_events_samples_idx',
  'webhook_events_account_idx',
]

/**
 * Replaces the rows of a database that has endpoints with `rows` finished deliveries of the last 30 days, each with an attempt, and
 * their events. Most events have five deliveries; each of the oldest 25th of the deliveries is the only one of its event. Bodies are
 * short. Adds 1,000 accounts with five endpoints each, so that an account with many deliveries is among ordinary ones.
 */
export async function fillHistory(db: Db, rows: number): Promise<History> {
  await db.query(
    `insert into webhook_endpoints (account_id, url, url_href, events, secret_ciphertext, secret_key_id)
     select md5('history' || n / ${FAN_OUT})::uuid, 'https://example.com/', 'https://example.com/',
       array['summary.completed'], '\\x00', 'bench'
     from generate_series(0, ${ACCOUNTS * FAN_OUT - 1}) n`,
  )
  const singles = Math.floor(rows / 25)
  const events = singles + Math.ceil((rows - singles) / FAN_OUT)
  const end = Date.now()
  const startedAt = end - KEEP_MS
  const timeOf = (event: number) => startedAt + (event * KEEP_MS) / events
  const at = (e: string) =>
    `to_timestamp((${startedAt} + (${e})::numeric * ${KEEP_MS} / ${events})::bigint / 1000.0)`
  const idOf = (e: string) =>
    `'evt_' || lpad(to_hex((${startedAt} + (${e})::numeric * ${KEEP_MS} / ${events})::bigint), 12, '0') || left(md5((${e})::text), 20)`
  const event = `case when n < ${singles} then n else ${singles} + (n - ${singles}) / ${FAN_OUT} end`
  const account = `case when e % ${LARGEST} = 0 then 0 else e % (cardinality(ids) / ${FAN_OUT}) end`
  const { rows: found } = await db.query<{ last: string }>(
    'select coalesce(max(id), 0) as last from webhook_deliveries',
  )
  const last = Number(found[0]?.last ?? 0)

  const deliveries = [
    'truncate webhook_deliveries',
    `insert into webhook_deliveries (id, endpoint_id, event_id, event_type, status, attempts, delivered_at, created_at)
     overriding system value
     select ${last + 1} + n, ids[1 + ${FAN_OUT} * (${account}) + n % ${FAN_OUT}], ${idOf('e')}, 'summary.completed', 1, 1, at, at
     from (select array_agg(id order by id) as ids from webhook_endpoints where deleted_at is null),
       generate_series(0, ${rows - 1}) n, lateral (select ${event} as e offset 0) numbered, lateral (select ${at('e')} as at offset 0) timed`,
    `select setval(pg_get_serial_sequence('webhook_deliveries', 'id'), ${last + rows})`,
  ]
  const others = [
    'truncate webhook_events, webhook_first_attempts, webhook_attempts',
    `insert into webhook_events (id, account_id, type, audio_id, source, source_event_key, source_hash, state, body, created_at, dispatched_at)
     select ${idOf('e')}, accounts[1 + ${FAN_OUT} * (${account})], 'summary.completed', 'rec_' || left(md5(e::text), 16), 'bench', ${idOf('e')},
       sha256(e::text::bytea), 'dispatched', '{"text":"' || repeat(md5(e::text), 3) || '"}', ${at('e')}, ${at('e')}
     from (select array_agg(id order by id) as ids, array_agg(account_id order by id) as accounts from webhook_endpoints where deleted_at is null),
       generate_series(0, ${events - 1}) e`,
    `insert into webhook_attempts (delivery_id, number, started_at, duration_ms, http_status, url_version, created_at, exchange)
     select ${last + 1} + n, 1, at, 12, 200, 1, at, '{"dns":0.4,"connect":1.2,"tls":4.1,"first_byte":5.6,"peer":"192.0.2.1"}'
     from generate_series(0, ${rows - 1}) n, lateral (select ${event} as e offset 0) numbered, lateral (select ${at('e')} as at offset 0) timed`,
  ]
  await Promise.all([inBulk(db, 'webhook_deliveries', deliveries), inBulk(db, 'webhook_events', others)])
  await Promise.all(
    ['webhook_deliveries', 'webhook_events', 'webhook_attempts'].map((table) =>
      db.query(`vacuum analyze ${table}`),
    ),
  )
  // Writes out now what filling left behind, so that no measurement pays for it.
  await db.query('checkpoint')
  return {
    events,
    singlesUntil: new Date(timeOf(singles)),
    fivesUntil: new Date(end),
  }
}

/**
 * Runs the statements in one transaction that begins with truncating, because a server with wal_level=minimal then writes no log of the
 * rows. Builds the indexes of `table` that grow in random places at the end.
 */
async function inBulk(db: Db, table: string, statements: readonly string[]): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    await tx.query("set local maintenance_work_mem = '1GB'")
    const { rows: indexes } = await tx.query<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
       where indrelid = $1::regclass and indexrelid::regclass::text = any ($2)`,
      [table, OUT_OF_ORDER],
    )
    for (const { name } of indexes) await tx.query(`drop index ${name}`)
    for (const statement of statements) await tx.query(statement)
    for (const { definition } of indexes) await tx.query(definition)
  })
}
