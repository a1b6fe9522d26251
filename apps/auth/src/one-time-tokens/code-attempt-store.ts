import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Tables } from '../database/tables.js'
import { knowsNetwork } from '../users/known-networks.js'

/** A guess at a code: whose code it is, and from where it comes. */
export type CodeGuess = {
  sentTo: Address
  network: string
  /** Networks last seen before this time count as strangers again. */
  knownSince: Date
  /** How many networks an account knows. */
  knownNetworks: number
  /** The counters that the guess may belong to: this network's, if the account knows it, or else the one that all strangers share. */
  ids: { known: Buffer; strangers: Buffer }
}

/**
 * A network that requested a code, and the allowances that it uses: those of the networks around it, the narrowest first, then the one of
 * the address.
 */
export type Asker = { asker: Buffer; allowances: readonly { id: Buffer; max: number }[] }

export type Window = { now: Date; endsAt: Date }

/** Counts attempts at the codes of a person. */
export class CodeAttemptStore {
  constructor(private readonly t: Tables) {}

  /** Counts one more attempt and returns how many there were in the window, including this one. */
  async count(tx: Tx, id: Buffer, window: Window): Promise<number> {
    return this.#counted(tx, 'values ($3::bytea, 1, $2::timestamptz)', [window.now, window.endsAt, id])
  }

  /** Does the same in the counter for this network and account. */
  async countGuess(tx: Tx, guess: CodeGuess, window: Window): Promise<number> {
    const { t } = this
    const { sentTo, network, knownSince, knownNetworks, ids } = guess
    const { kind } = sentTo
    const account = kind === 'email' ? 'lower(u.email) = $5 and not u.is_sso_user' : 'u.phone = $5'
    const isKnown = knowsNetwork(t, {
      userId: 'u.id',
      isProved: `u.${kind}_confirmed_at is not null`,
      network: '$6',
      since: '$7',
      count: '$8',
    })
    return this.#counted(
      tx,
      `select case when exists (
         select from ${t.users} u where ${account} and ${isKnown}
       ) then $3::bytea else $4::bytea end, 1, $2::timestamptz`,
      [window.now, window.endsAt, ids.known, ids.strangers, sentTo.value, network, knownSince, knownNetworks],
    )
  }

  /** Begins a count of guesses for the network, unless it has one already or one of the allowances is used up in this window. */
  async putAsker(db: Queryable, { asker, allowances }: Asker, { now, endsAt }: Window): Promise<void> {
    const { codeAttempts } = this.t
    // Takes from each allowance only if the one before had something left.
    const steps = allowances.map((_, index) => {
      const left =
        index === 0
          ? `where not exists (select from ${codeAttempts} where id = $1 and window_ends_at > $2)`
          : `from allowance_${index - 1} where attempts <= ${maxOf(index - 1)}`
      return `allowance_${index} as (
         insert into ${codeAttempts} as a (id, attempts, window_ends_at)
         select ${idOf(index)}::bytea, 1, $3::timestamptz ${left}
         ${countedOn('$2')}
       )`
    })
    const last = allowances.length - 1
    await db.query(
      `with ${steps.join(', ')}
       insert into ${codeAttempts} as a (id, attempts, window_ends_at)
       select $1::bytea, 0, $3::timestamptz from allowance_${last} where attempts <= ${maxOf(last)}
       on conflict (id) do update set attempts = 0, window_ends_at = excluded.window_ends_at
       where a.window_ends_at <= $2`,
      [asker, now, endsAt, ...allowances.flatMap(({ id, max }) => [id, max])],
    )
  }

  /** Adds an attempt to a count that has begun; null if there is none. */
  async countOfAsker(tx: Tx, id: Buffer, now: Date): Promise<number | null> {
    const { rows } = await tx.query<{ attempts: number }>(
      `update ${this.t.codeAttempts} set attempts = attempts + 1
       where id = $1 and window_ends_at > $2 returning attempts`,
      [id, now],
    )
    return rows[0]?.attempts ?? null
  }

  /** Begins a window. Returns false and writes nothing if one has already begun. */
  async begin(db: Queryable, id: Buffer, { now, endsAt }: Window): Promise<boolean> {
    const { rowCount } = await db.query(
      `insert into ${this.t.codeAttempts} as a (id, attempts, window_ends_at) values ($1, 1, $3)
       on conflict (id) do update set window_ends_at = excluded.window_ends_at where a.window_ends_at <= $2`,
      [id, now, endsAt],
    )
    return rowCount === 1
  }

  async #counted(tx: Tx, row: string, parameters: unknown[]): Promise<number> {
    const { rows } = await tx.query<{ attempts: number }>(
      `insert into ${this.t.codeAttempts} as a (id, attempts, window_ends_at) ${row} ${countedOn('$1')}`,
      parameters,
    )
    return rows[0]?.attempts ?? 1
  }

  async forget(tx: Tx, ids: readonly Buffer[]): Promise<void> {
    await tx.query(`delete from ${this.t.codeAttempts} where id = any($1::bytea[])`, [ids])
  }
}

/** Adds to the count of row `a`, or restarts it when its window is over. */
const countedOn = (now: string): string => `
  on conflict (id) do update set
    attempts = case when a.window_ends_at <= ${now} then 1 else a.attempts + 1 end,
    window_ends_at = case when a.window_ends_at <= ${now} then excluded.window_ends_at else a.window_ends_at end
  returning attempts`

const idOf = (index: number): string => `$${4 + 2 * index}`
const maxOf = (index: number): string => `$${5 + 2 * index}::int`
