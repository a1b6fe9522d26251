import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import { sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import { hintOf, personalToken, type PersonalToken } from '../credentials/personal-token.js'
import {
  countUsableForUpdate,
  insertPersonalToken,
  listPersonalTokens,
  revokePersonalToken,
} from './personal-token-store.js'
import { RuleError } from '../errors/rule-error.js'

/** The token inherits the age of the sign-in that created it, and ends with it if the account is signed out everywhere. */
export type TokenOwner = { readonly accountId: string; readonly authenticatedAt: Date }

export const MAX_USABLE_TOKENS = 20
const DEFAULT_DAYS = 90

/** Personal API tokens of an account (docs/specification.md#personal-tokens). */
export class PersonalTokenService {
  constructor(private readonly deps: { db: Db; observer: Observer }) {}

  /**
   * Creates a token and returns it in plain text, which is shown only once. Returns null if the sign-in behind it has ended in the
   * meantime.
   */
  async create(
    { accountId, authenticatedAt }: TokenOwner,
    { name, days = DEFAULT_DAYS }: { name: string; days?: number | undefined },
    meta: RequestMeta,
  ): Promise<(PersonalToken & { token: string }) | null> {
    const token = personalToken()
    const row = { accountId, authenticatedAt, name, tokenHash: sha256(token), hint: hintOf(token), days }
    const created = await this.deps.db.transaction(async (tx) => {
      if ((await countUsableForUpdate(tx, accountId)) >= MAX_USABLE_TOKENS) throw tooMany()
      return insertPersonalToken(tx, row)
    })
    if (!created) return null
    this.deps.observer.personalTokenCreated({ id: created.id, accountId }, meta)
    return { ...created, token }
  }

  list(accountId: string): Promise<PersonalToken[]> {
    return listPersonalTokens(this.deps.db, accountId)
  }

  /** Returns false for an unknown or already revoked token, or one of another account. */
  async revoke(accountId: string, id: string, meta: RequestMeta): Promise<boolean> {
    const revoked = await revokePersonalToken(this.deps.db, { accountId, id })
    if (revoked) this.deps.observer.personalTokenRevoked({ id, accountId, reason: 'revoked_by_user' }, meta)
    return revoked
  }
}

/** Like every quota error, this has no Retry-After, because waiting does not help. */
const tooMany = () => new RuleError('token.quota', { kind: 'limited', values: { max: MAX_USABLE_TOKENS } })
