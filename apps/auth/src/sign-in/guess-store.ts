import type { Queryable } from '@signet/db'
import type { Tables } from '../database/tables.js'
import { takeBackGuess } from '../sessions/right-guess.js'
import { knowsNetwork } from '../users/known-networks.js'
import { accountColumn, pendingHash, toUser, type AccountRow } from '../users/user-rows.js'
import type { User } from '../users/user.js'

/** How many failures are remembered beyond the free ones. The longest wait is reached with fewer. */
const REMEMBERED = 20

/** How long it takes until all failures of an account have expired. One expires every `failureMs`. */
export const forgottenAfterMs = (freeAttempts: number, failureMs: number): number =>
  (freeAttempts + REMEMBERED) * failureMs

/** A guess at a password: whose password it is, and from where it comes. */
export type Guess = {
  by: 'email' | 'phone'
  address: string
  network: string
  /** The counters that the guess may belong to: this network's, if the account knows it, or else the one that all strangers share. */
  ids: { known: Buffer; strangers: Buffer }
  /** Client and address, hashed as in stored sign-ups. */
  client: Buffer
  signUp: Buffer
}
export type Delays = {
  freeAttempts: number
  firstDelaySeconds: number
  maxDelaySeconds: number
  /** After this time one failure is forgotten, which also ends the wait for it. */
  failureSeconds: number
}
export type GuessLimits = Delays & {
  /** How many networks an account knows. */
  knownNetworks: number
  /** Networks last seen before this time count as strangers again. */
  knownSince: Date
  /** False if only networks that the account knows may try. */
  strangersAllowed: boolean
}
export type Counted = {
  user: User | null
  /** Password hash of an unconfirmed sign-up with this address. */
  pendingHash: string | null
  /** The row that counted the guess; null when it may not be tried. */
  countedIn: Buffer | null
  /** When the next try is allowed, as far as is known. */
  nextAt: Date | null
}

type Row = {
  account: AccountRow['account'] | null
  pending_hash: string | null
  counted_in: Buffer | null
  next_at: Date | null
}

/** Counts guesses at the passwords of accounts. */
export class GuessStore {
  readonly #begin: Readonly<Record<Guess['by'], string>>
  readonly #count: string

  constructor(private readonly t: Tables) {
    this.#begin = {
      email: this.#beginFor('email', 'lower(u.email) = $1 and not u.is_sso_user'),
      phone: this.#beginFor('phone', 'u.phone = $1'),
    }
    const { counted, wait } = counting({
      freeAttempts: '$2',
      maxDelaySeconds: '$3',
      now: '$4',
      firstDelaySeconds: '$5',
      failureSeconds: '$6',
    })
    this.#count = `
      with counted as (
        insert into ${t.signInAttempts} as a (id, failures, last_at) values ($1, 1, $4::timestamptz) ${counted}
      )
      select exists (select from counted) as counted,
        (select a.last_at + ${wait} from ${t.signInAttempts} a where a.id = $1) as next_at`
  }

  /**
   * Finds the user and counts a wrong password in advance. This is one statement, so parallel guesses wait for the row and see each other's
   * count. Until the wait after the last guess is over, nothing is counted and nothing may be tried.
   */
  async begin(db: Queryable, guess: Guess, limits: GuessLimits, now: Date): Promise<Counted> {
    const { rows } = await db.query<Row>({ name: `guess_begin_${guess.by}`, text: this.#begin[guess.by] }, [
      guess.address,
      guess.network,
      guess.ids.known,
      guess.ids.strangers,
      limits.freeAttempts,
      limits.maxDelaySeconds,
      limits.knownSince,
      limits.strangersAllowed,
      now,
      guess.client,
      guess.signUp,
      limits.firstDelaySeconds,
      limits.failureSeconds,
      limits.knownNetworks,
    ])
    const [row] = rows
    return {
      user: row?.account ? toUser({ account: row.account }) : null,
      pendingHash: row?.pending_hash ?? null,
      countedIn: row?.counted_in ?? null,
      nextAt: row?.next_at ?? null,
    }
  }

  /** Does the same for guesses against a known user. `counted` is false while no further guess is allowed. */
  async count(
    db: Queryable,
    id: Buffer,
    { freeAttempts, firstDelaySeconds, maxDelaySeconds, failureSeconds }: Delays,
    now: Date,
  ): Promise<{ counted: boolean; nextAt: Date | null }> {
    const { rows } = await db.query<{ counted: boolean; next_at: Date | null }>(
      { name: 'guess_count', text: this.#count },
      [id, freeAttempts, maxDelaySeconds, now, firstDelaySeconds, failureSeconds],
    )
    return { counted: rows[0]?.counted ?? false, nextAt: rows[0]?.next_at ?? null }
  }

  /** Takes back a guess that was not wrong. */
  async takeBack(db: Queryable, id: Buffer): Promise<void> {
    await db.query(
      {
        name: 'guess_take_back',
        text: takeBackGuess(this.t, '$1'),
      },
      [id],
    )
  }

  /** Forgets all failures. */
  async forget(db: Queryable, id: Buffer): Promise<void> {
    await db.query(`delete from ${this.t.signInAttempts} where id = $1`, [id])
  }

  #beginFor(kind: Guess['by'], account: string): string {
    const { t } = this
    const { counted, wait } = counting({
      freeAttempts: '$5',
      maxDelaySeconds: '$6',
      now: '$9',
      firstDelaySeconds: '$12',
      failureSeconds: '$13',
    })
    const isKnown = knowsNetwork(t, {
      userId: 'account.id',
      isProved: 'account.is_proved',
      network: '$2',
      since: '$7',
      count: '$14',
    })
    return `
      with account as materialized (
        select u.id, u.${kind}_confirmed_at is not null as is_proved, ${accountColumn(t)} from ${t.users} u where ${account}
      ), budget as materialized (
        select case when exists (select from account where ${isKnown}) then $3::bytea else $4::bytea end as id
      ), counted as (
        insert into ${t.signInAttempts} as a (id, failures, last_at)
        select id, 1, $9::timestamptz from budget where $8::boolean or id = $3::bytea
        ${counted}
      )
      select (select account from account) as account, ${pendingHash(t, kind, { userId: '(select id from account)', address: '$11', client: '$10' })} as pending_hash,
        (select id from counted) as counted_in,
        (select a.last_at + ${wait} from ${t.signInAttempts} a where a.id = (select id from budget)) as next_at`
  }
}

/**
 * SQL over row `a`, with the names of the parameters that it needs. A request that read the clock first may arrive second, or at a replica
 * whose clock is slow. For that request, no time has passed since the previous guess, so it is only refused if there is a wait.
 */
function counting({
  freeAttempts,
  firstDelaySeconds,
  maxDelaySeconds,
  failureSeconds,
  now,
}: Record<keyof Delays | 'now', string>) {
  const at = `greatest(${now}::timestamptz, a.last_at)`
  const left = `greatest(0, a.failures - floor(extract(epoch from ${at} - a.last_at)::float8 / ${failureSeconds}::float8))::int`
  const wait = `make_interval(secs => case when ${left} < ${freeAttempts}::int then 0
    else least(${maxDelaySeconds}::float8, ${firstDelaySeconds}::float8 * 2 ^ least(${left} - ${freeAttempts}::int, ${REMEMBERED})) end)`
  const counted = `on conflict (id) do update
    set failures = least(${left} + 1, ${freeAttempts}::int + ${REMEMBERED}), last_at = ${at}
    where a.last_at + ${wait} <= ${at}
    returning a.id`
  return { counted, wait }
}
