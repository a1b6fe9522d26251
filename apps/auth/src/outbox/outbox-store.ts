import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'

export type NewRow = {
  id: string
  kind: string
  recipient: Buffer
  payload: string
  /** What to undo if the message is given up. It is stored unencrypted, so it may only contain ids. */
  undo: object | null
  delayMs: number
  expiresAt: Date | null
}

/** A row that this process may send until `next_attempt_at`. */
export type ClaimedRow = {
  id: string
  recipient: Buffer
  payload: string
  undo: object | null
  attempts: number
  expiresAt: Date | null
  createdAt: Date
}

type Row = {
  id: string
  recipient: Buffer
  payload: string
  undo: object | null
  attempts: number
  expires_at: Date | null
  created_at: Date
}

export type Claim = {
  kind: string
  ordered: boolean
  /** Recipients to skip. */
  busy: readonly Buffer[]
  now: Date
  /** When the row becomes due again if this process never reports back. */
  until: Date
  /** The key under which this process shows that it is alive; null if it does not show that. */
  sender: string | null
}

/** How many messages of a kind are waiting, and when the oldest of them was added. */
export type Waiting = { kind: string; rows: number; since: Date }

export class OutboxStore {
  #onCommitted: (kind: string, delayMs: number) => void = () => undefined

  constructor(private readonly t: Tables) {}

  /** Called for each message committed by this process, with the time until it is due. */
  set onCommitted(listener: (kind: string, delayMs: number) => void) {
    this.#onCommitted = listener
  }

  /** Has messages of a kind sent right after the commit. Needed for statements through `db` that add messages without `insert`. */
  sendAfter(db: Queryable | Tx, kind: string, delayMs = 0): void {
    if ('afterCommit' in db) db.afterCommit(() => this.#onCommitted(kind, delayMs))
    else this.#onCommitted(kind, delayMs)
  }

  /**
   * Adds a message. It is `behind` if its recipient has another message that is due, or itself behind: that one has to go first. The lock
   * on that other message makes a sender that wants to delete or defer it wait for this transaction, and then see this message. If a sender
   * is already doing so, the other message is skipped, so adding never waits.
   */
  async insert(tx: Tx, row: NewRow, now: Date): Promise<void> {
    const { id, kind, recipient, payload, undo, delayMs, expiresAt } = row
    const dueAt = new Date(now.getTime() + delayMs)
    await tx.query(
      {
        name: 'outbox_insert',
        text: `with other as (
            select from ${this.t.outbox} where kind = $2 and recipient = $3 and (behind or next_attempt_at <= $8)
            order by position desc limit 1 for key share skip locked)
          insert into ${this.t.outbox} (id, kind, recipient, payload, next_attempt_at, expires_at, created_at, undo, behind)
          values ($1, $2, $3, $4, $8, $5, $6, $7, exists (select from other))`,
      },
      [id, kind, recipient, payload, expiresAt, now, undo, dueAt],
    )
    this.sendAfter(tx, kind, delayMs)
  }

  /**
   * Claims the message that has been due longest. A transaction that is adding a message behind it may hold a lock on its key; `no key
   * update` does not wait for that lock. Messages behind others are not read, no matter how many there are.
   */
  async claim(db: Queryable, { kind, ordered, busy, now, until, sender }: Claim): Promise<ClaimedRow | null> {
    // Transactions that add messages at the same time do not see each other's, so several messages of one recipient may not be behind
    // another.
    const head = `and not exists (select from ${this.t.outbox} e
      where e.kind = o.kind and e.recipient = o.recipient and e.position < o.position)`
    const { rows } = await db.query<Row>(
      {
        name: ordered ? 'outbox_claim_ordered' : 'outbox_claim',
        text: `update ${this.t.outbox} set attempts = attempts + 1, next_attempt_at = $4,
            claimed_by = $5::bigint, claimed_on = pg_postmaster_start_time(), claimed_attempt = attempts + 1
          where id = (
            select o.id from ${this.t.outbox} o
            where o.kind = $1 and not o.behind and o.next_attempt_at <= $2 and o.recipient <> all($3::bytea[])
              ${ordered ? head : ''}
            order by o.next_attempt_at, o.position limit 1 for no key update skip locked)
          returning id, recipient, payload, undo, attempts, expires_at, created_at`,
      },
      [kind, now, busy, until, sender],
    )
    return rows[0] ? toClaimed(rows[0]) : null
  }

  /** Kinds with due messages. */
  async dueKinds(db: Queryable, kinds: readonly string[], now: Date): Promise<string[]> {
    const { rows } = await db.query<{ kind: string }>(
      {
        name: 'outbox_due',
        text: `select kind from unnest($1::text[]) as kind
          where exists (select from ${this.t.outbox} o
            where o.kind = kind and not o.behind and o.next_attempt_at <= $2)`,
      },
      [kinds, now],
    )
    return rows.map(({ kind }) => kind)
  }

  /** False when another process has claimed the row in the meantime. */
  async remove(db: Queryable, { id, attempts }: Pick<ClaimedRow, 'id' | 'attempts'>): Promise<boolean> {
    const { rowCount } = await db.query(
      { name: 'outbox_remove', text: `delete from ${this.t.outbox} where id = $1 and attempts = $2` },
      [id, attempts],
    )
    return rowCount === 1
  }

  /**
   * Defers a row. Unless the kind is ordered, the message behind it does not have to wait for the next attempt. When a row is removed, the
   * trigger of the table does the same.
   */
  async defer(
    tx: Tx,
    { id, attempts }: Pick<ClaimedRow, 'id' | 'attempts'>,
    { until, ordered }: { until: Date; ordered: boolean },
  ): Promise<void> {
    // Wait for transactions that add a message behind this one. Only the next statement sees their messages.
    await tx.query(`select from ${this.t.outbox} where id = $1 and attempts = $2 for update`, [id, attempts])
    await tx.query(
      `with deferred as (
         update ${this.t.outbox} set next_attempt_at = $3, claimed_by = null where id = $1 and attempts = $2 returning kind, recipient)
       update ${this.t.outbox} set behind = false where behind and not $4 and id = (
         select o.id from ${this.t.outbox} o join deferred d on o.kind = d.kind and o.recipient = d.recipient
         where o.behind order by o.position limit 1)`,
      [id, attempts, until, ordered],
    )
  }

  /** Shows others that a sender is alive, until `tx` ends or the server has not heard from the sender for `silentMs`. */
  async showSender(tx: Tx, sender: string, silentMs: number): Promise<void> {
    await tx.query(
      `select set_config('idle_in_transaction_session_timeout', $2, true), set_config('tcp_user_timeout', $2, true),
         pg_advisory_xact_lock($1::bigint)`,
      [sender, String(silentMs)],
    )
  }

  /**
   * Other senders that have claims but do not show that they are alive. A database server that started after a claim knows nothing about
   * its sender, so that claim lasts its full time.
   */
  async absentSenders(db: Queryable, self: string, now: Date): Promise<string[]> {
    const { rows } = await db.query<{ sender: string }>(
      {
        name: 'outbox_absent_senders',
        text: `with senders as materialized (
            select distinct claimed_by from ${this.t.outbox} where claimed_by <> $1::bigint and ${UNDER_WAY})
          select claimed_by::text as sender from senders where pg_try_advisory_xact_lock_shared(claimed_by)`,
      },
      [self, now],
    )
    return rows.map(({ sender }) => sender)
  }

  /** Ends the claims of a sender, so that its messages are due at once. */
  async release(db: Queryable, sender: string, now: Date): Promise<void> {
    await db.query(
      `update ${this.t.outbox} set next_attempt_at = $2 where claimed_by = $1::bigint and ${UNDER_WAY}`,
      [sender, now],
    )
  }

  async waiting(db: Queryable): Promise<Waiting[]> {
    const { rows } = await db.query<{ kind: string; waiting: number; since: Date }>(
      `select kind, count(*)::int as waiting, min(created_at) as since from ${this.t.outbox} group by kind`,
    )
    return rows.map(({ kind, waiting, since }) => ({ kind, rows: waiting, since }))
  }
}

/** SQL for claims that are still valid; `$2` is the current time. */
const UNDER_WAY =
  'next_attempt_at > $2 and claimed_attempt = attempts and claimed_on = pg_postmaster_start_time()'

const toClaimed = (row: Row): ClaimedRow => ({
  id: row.id,
  recipient: row.recipient,
  payload: row.payload,
  undo: row.undo,
  attempts: row.attempts,
  expiresAt: row.expires_at,
  createdAt: row.created_at,
})
