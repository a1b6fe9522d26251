import type { KeyObject } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import { authError } from '../errors/auth-error.js'
import type { TokenHashes } from '../one-time-tokens/one-time-token.js'
import { inNetwork } from '../hash-callers/known-callers.js'
import type { HashCaller } from '../passwords/hash-caller.js'
import type { FailureLimit } from '../rate-limits/rate-limits.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { User } from '../users/user.js'
import type { GuessStore } from './guess-store.js'

export type GuessRules = {
  freeAttempts: number
  firstDelayMs: number
  maxDelayMs: number
  /** The time after which one failure expires. */
  failureMs: number
  knownNetworks: number
  knownNetworkMs: number
}

/** A password that may be tried. It counts as wrong until `takeBack` says otherwise. */
export type Attempt = {
  readonly user: User | null
  /** Password hash of an unconfirmed sign-up with this address: the newest of this client, otherwise the newest of all. */
  readonly pendingHash: string | null
  /** The caller for the hasher, which treats strangers the same whether or not there is an account. */
  readonly caller: HashCaller
  /** Runs the comparison. If it was not made, because the server was busy or the client left first, it does not count as a guess. */
  check<T>(compare: () => Promise<T>): Promise<T>
  takeBack(): Promise<void>
  /** The same as `takeBack`, for an `open` whose own statement takes back the guess: one round trip instead of two. */
  takeBackWith<T>(open: (countedIn: Buffer) => Promise<T>): Promise<T>
}

type Deps = {
  db: Db
  store: GuessStore
  failures: FailureLimit
  key: KeyObject
  hashes: Pick<TokenHashes, 'ofClient' | 'ofSignUp'>
  rules: GuessRules
  now: () => Date
}

/**
 * Limits how often passwords may be guessed. Strangers to an account share one allowance, so that many addresses get no more guesses than
 * one. Each network that the account signed in from has its own, so that strangers cannot use up the owner's. Unknown accounts have the
 * allowance of strangers only, so they cannot be told apart.
 */
export class Guesses {
  constructor(private readonly deps: Deps) {}

  /** Call this before checking a password. Throws `limited` if it is too early. */
  async begin(address: Address, meta: RequestMeta): Promise<Attempt> {
    const { client } = meta
    const { db, store, failures, hashes, rules, now } = this.deps
    const networkWaitMs = await failures.take(client)
    const at = now()
    const limits = {
      ...this.#limits,
      knownNetworks: rules.knownNetworks,
      knownSince: new Date(at.getTime() - rules.knownNetworkMs),
      strangersAllowed: networkWaitMs === 0,
    }
    const guess = {
      by: address.kind,
      address: address.value,
      network: client.key,
      ids: this.#idsOf(address, client.key),
      client: hashes.ofClient(client),
      signUp: hashes.ofSignUp(address),
    }
    const putBack = () => (networkWaitMs === 0 ? failures.putBack(client) : Promise.resolve())
    const { user, pendingHash, countedIn, nextAt } = await store.begin(db, guess, limits, at)
    if (countedIn === null) {
      await putBack()
      throw tooMany(Math.max(networkWaitMs, (nextAt?.getTime() ?? 0) - at.getTime()))
    }
    const takeBack = async () => {
      await Promise.all([store.takeBack(db, countedIn), putBack()])
    }
    const orTakeBack = <T>(work: Promise<T>): Promise<T> =>
      work.catch(async (error: unknown) => {
        await takeBack()
        throw error
      })
    return {
      user,
      pendingHash,
      caller: inNetwork(meta, countedIn.equals(guess.ids.known)),
      check: (compare) => orTakeBack(compare()),
      takeBack,
      async takeBackWith(open) {
        const opened = await orTakeBack(open(countedIn))
        await putBack()
        return opened
      },
    }
  }

  /**
   * Call this before checking a second-factor code, in the same transaction. Anyone who gets this far has the password, so known networks
   * get no separate allowance: six digits are only safe for months if all guesses count together.
   */
  async beginFactor(tx: Tx, factorId: string): Promise<Pick<Attempt, 'takeBack'>> {
    const { store, key, now } = this.deps
    const id = keyedHash(key, 'factor', factorId)
    const at = now()
    const { counted, nextAt } = await store.count(tx, id, this.#limits, at)
    if (!counted) throw tooMany((nextAt?.getTime() ?? 0) - at.getTime())
    return { takeBack: () => store.takeBack(tx, id) }
  }

  /** Call this when what was guessed at no longer exists. */
  forgetFactor(tx: Tx, factorId: string): Promise<void> {
    return this.deps.store.forget(tx, keyedHash(this.deps.key, 'factor', factorId))
  }

  get #limits() {
    const { freeAttempts, firstDelayMs, maxDelayMs, failureMs } = this.deps.rules
    return {
      freeAttempts,
      firstDelaySeconds: firstDelayMs / 1000,
      maxDelaySeconds: maxDelayMs / 1000,
      failureSeconds: failureMs / 1000,
    }
  }

  #idsOf({ kind, value }: Address, network: string) {
    const { key } = this.deps
    return { strangers: keyedHash(key, kind, value), known: keyedHash(key, kind, value, network) }
  }
}

/** The same error whether the account or the network tried too often. */
function tooMany(waitMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return authError(
    'limited',
    'over_request_rate_limit',
    `Too many attempts, try again in ${seconds} seconds`,
    {
      retryAfterSeconds: seconds,
    },
  )
}
