import type { Db, Queryable, Tx } from '@signet/db'
import type { AsymmetricAlgorithm, NamedKey } from '@signet/jwt'
import type { Observer } from '../observers/observer.js'
import type { KeyMaterial } from './key-material.js'
import { KeyRefusal } from './key-refusal.js'
import type { SigningKeyStore } from './signing-key-store.js'
import { endOf, signerOf, stateOf, type KeyState, type SigningKey } from './signing-key.js'

export type KeyRules = {
  /** What signs: keys of the database, a key of AUTH_JWT_KEYS, or the secret. */
  signsWith: 'own_keys' | 'configured_keys' | 'secret'
  /** Algorithm of new keys, unless another one is requested. */
  algorithm: AsymmetricAlgorithm
  /** AUTH_JWT_KEY_ACTIVATION_DELAY. */
  delayMs: number
  /** Lifetime of an access token. */
  tokenSeconds: number
  /** AUTH_JWT_VALID_METHODS; empty for all. */
  validMethods: readonly string[]
}

/** A key that can be used: neither retired nor sealed with another secret. */
export type UsableKey = SigningKey & { readonly material: NamedKey }

export type ListedKey = SigningKey & {
  readonly state: KeyState
  /** False when it was sealed with another AUTH_JWT_SECRET; such a key is neither published nor accepted. */
  readonly readable: boolean
  /** When its last token expires; undefined while it may still sign. */
  readonly endsAt: Date | undefined
}

export type KeyServiceObserver = Pick<Observer, 'signingKeyCreated' | 'signingKeyUnreadable'>

type Deps = {
  db: Db
  store: SigningKeyStore
  material: KeyMaterial
  rules: KeyRules
  observer: KeyServiceObserver
  now: () => Date
}

/** The lifecycle of signing keys: the first one is made on demand, later ones when an operator asks. */
export class SigningKeyService {
  readonly #opened = new Map<string, NamedKey | undefined>()

  constructor(private readonly deps: Deps) {}

  get rules(): KeyRules {
    return this.deps.rules
  }

  /** All usable keys, one of which signs; makes one if there is none. Replicas agree on the same key. */
  async ensure(): Promise<UsableKey[]> {
    const { db, rules, material } = this.deps
    const found = await this.#usable(db)
    if (rules.signsWith !== 'own_keys' || found.length > 0) return this.#withOwnLife(found)
    // Created before taking the lock, because RSA keys are slow to generate. If several replicas do so, only one key is kept.
    const made = await material.create(rules.algorithm)
    return db.transaction(async (tx) => {
      await this.deps.store.lock(tx)
      const meanwhile = await this.#usable(tx)
      if (meanwhile.length > 0) return this.#withOwnLife(meanwhile)
      await this.#insert(tx, { ...made, alg: rules.algorithm }, 0)
      this.deps.observer.signingKeyCreated(made.kid, rules.algorithm)
      return this.#usable(tx)
    })
  }

  async list(): Promise<ListedKey[]> {
    const { db, store, rules, now } = this.deps
    const keys = await store.list(db)
    return keys.map((key) => ({
      ...key,
      state: stateOf(key, now(), rules.delayMs),
      readable: key.retiredAt !== null || this.#open(key) !== undefined,
      endsAt: key.supersededAt === null ? undefined : endOf(key.supersededAt, key, rules.delayMs),
    }))
  }

  /** Publishes a new key, which signs after the activation delay or at once; the current key signs until then. */
  async rotate(alg: AsymmetricAlgorithm, at: 'after_delay' | 'at_once'): Promise<SigningKey> {
    const { db, store, rules, material, now } = this.deps
    if (rules.signsWith === 'configured_keys')
      throw new KeyRefusal('AUTH_JWT_KEYS is set, so its keys sign. Rotate by changing that setting.')
    if (rules.signsWith === 'secret')
      throw new KeyRefusal(
        'AUTH_JWT_SIGNING_ALGORITHM is HS256, so AUTH_JWT_SECRET signs. There is no key to rotate.',
      )
    if (rules.validMethods.length > 0 && !rules.validMethods.includes(alg))
      throw new KeyRefusal(
        `AUTH_JWT_VALID_METHODS does not list ${alg}, so tokens of such a key would be refused.`,
      )
    const made = await material.create(alg)
    return db.transaction(async (tx) => {
      await store.lock(tx)
      const keys = await this.#usable(tx)
      const stateNow = (key: SigningKey) => stateOf(key, now(), rules.delayMs)
      const next = keys.find((key) => stateNow(key) === 'next')
      if (next)
        throw new KeyRefusal(
          `${next.kid} will sign from ${next.activatesAt.toISOString()}. Wait until then, or retire it first.`,
        )
      for (const { kid } of keys.filter((key) => stateNow(key) === 'expired'))
        await store.retire(tx, kid, now())
      const signing = keys.filter((key) => stateNow(key) === 'signing')
      const key = await this.#insert(
        tx,
        { ...made, alg },
        at === 'at_once' || keys.length === 0 ? 0 : rules.delayMs,
      )
      await store.supersede(
        tx,
        signing.map(({ kid }) => kid),
        key.activatesAt,
      )
      return key
    })
  }

  /**
   * Retires a key, so that its tokens are refused. Never retires the signing key. A key that may have signed live tokens, or with which
   * other servers may sign, is retired only with `force`.
   */
  async retire(kid: string, { force }: { force: boolean }): Promise<void> {
    const { db, store, now } = this.deps
    await db.transaction(async (tx) => {
      await store.lock(tx)
      const keys = await store.list(tx)
      const key = keys.find((candidate) => candidate.kid === kid)
      if (!key) throw new KeyRefusal(`There is no key ${kid}.`)
      if (key.retiredAt !== null) return
      if (this.#open(key)) await this.#checkRetirable(tx, key, force)
      else if (key.supersededAt === null && !force)
        throw new KeyRefusal(
          `${kid} is sealed with another AUTH_JWT_SECRET than this one, and servers that have it may sign with the key. Use --force once no server has it.`,
        )
      await store.retire(tx, kid, now())
    })
  }

  async #checkRetirable(tx: Tx, key: SigningKey, force: boolean): Promise<void> {
    const { store, rules, now } = this.deps
    const usable = await this.#usable(tx)
    const state = stateOf(key, now(), rules.delayMs)
    const signs = rules.signsWith === 'own_keys'
    if (signs && signerOf(usable, now())?.kid === key.kid)
      throw new KeyRefusal(`${key.kid} signs. Rotate first, so that another key does.`)
    if (state === 'next') {
      // A replica whose clock is fast, or that finds out late, would sign with a key that no other replica accepts anymore.
      if (signs && key.activatesAt.getTime() - now().getTime() < rules.delayMs / 4)
        throw new KeyRefusal(
          `${key.kid} is about to sign, at ${key.activatesAt.toISOString()}. Wait until then and rotate again.`,
        )
      const waiting = usable.filter(
        ({ supersededAt }) => supersededAt?.getTime() === key.activatesAt.getTime(),
      )
      await store.supersede(
        tx,
        waiting.map(({ kid }) => kid),
        null,
      )
      return
    }
    if (state === 'expired' || force) return
    const until = key.supersededAt
      ? ` until ${endOf(key.supersededAt, key, rules.delayMs).toISOString()}`
      : ''
    throw new KeyRefusal(
      `Tokens signed with ${key.kid} may be valid${until}. Use --force to have them refused now.`,
    )
  }

  async #insert(
    tx: Tx,
    made: { kid: string; sealedKey: string; alg: AsymmetricAlgorithm },
    delayMs: number,
  ): Promise<SigningKey> {
    const { store, rules, now } = this.deps
    const createdAt = now()
    const key: SigningKey = {
      ...made,
      tokenSeconds: rules.tokenSeconds,
      createdAt,
      activatesAt: new Date(createdAt.getTime() + delayMs),
      supersededAt: null,
      retiredAt: null,
    }
    await store.insert(tx, key)
    return key
  }

  async #usable(db: Queryable): Promise<UsableKey[]> {
    const keys = await this.deps.store.list(db)
    return keys.flatMap((key) => {
      const material = this.#open(key)
      return material && key.retiredAt === null ? [{ ...key, material }] : []
    })
  }

  /**
   * A key stays published for as long as the longest-lived token of any process. This process may be configured for longer lifetimes than
   * those before it.
   */
  async #withOwnLife(keys: UsableKey[]): Promise<UsableKey[]> {
    const { db, store, rules, now } = this.deps
    const short = keys.filter(
      (key) =>
        key.tokenSeconds < rules.tokenSeconds && (key.supersededAt === null || key.supersededAt > now()),
    )
    if (short.length === 0) return keys
    await store.extendTokens(
      db,
      short.map(({ kid }) => kid),
      rules.tokenSeconds,
    )
    return keys.map((key) => (short.includes(key) ? { ...key, tokenSeconds: rules.tokenSeconds } : key))
  }

  // Cached by name, because importing a key costs as much as a signature; a name never changes its key.
  #open(key: SigningKey): NamedKey | undefined {
    if (key.sealedKey === null) return undefined
    if (this.#opened.has(key.kid)) return this.#opened.get(key.kid)
    const material = this.deps.material.open(key)
    if (!material) this.deps.observer.signingKeyUnreadable(key.kid)
    this.#opened.set(key.kid, material)
    return material
  }
}
