import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import { hasFormOf, sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import type { ResourcePolicy } from '../oauth/resource-policy.js'
import { SCOPE_CONNECT } from '../oauth/scope.js'
import { isPersonalToken } from '../credentials/personal-token.js'
import {
  findLiveAccessToken,
  findLivePersonalToken,
  revokeIdlePersonalToken,
  touchPersonalToken,
} from './bearer-store.js'

/** Who calls, with which credential, and what it allows. */
export type Caller = {
  readonly accountId: string
  /** When the identity server confirmed the person whose sign-in the credential comes from. */
  readonly authenticatedAt: Date
  readonly scope: string
  readonly kind: 'access' | 'personal'
  /** Empty for an access token. */
  readonly personalTokenId: string
}

type Deps = { db: Db; resources: ResourcePolicy; observer: Observer }

/** Resolves Bearer tokens. Each takes one indexed query, and nothing is cached, so a revocation takes effect at once. */
export class BearerService {
  constructor(private readonly deps: Deps) {}

  /** Returns null for every token that does not work here, for any reason. */
  async resolve(token: string, meta: RequestMeta): Promise<Caller | null> {
    if (hasFormOf('accessToken', token)) return this.#accessToken(token)
    return this.resolvePersonalToken(token, meta)
  }

  async #accessToken(token: string): Promise<Caller | null> {
    const found = await findLiveAccessToken(this.deps.db, sha256(token))
    // A token that was requested for another resource server is not valid here (RFC 8707 section 2).
    if (!found || !this.deps.resources.coversOwn(found.resources)) return null
    const { accountId, authenticatedAt, scope } = found
    return { accountId, authenticatedAt, scope, kind: 'access', personalTokenId: '' }
  }

  /** Like {@link resolve}, for personal tokens only. Counts as a use, and ends a token that has been idle too long. */
  async resolvePersonalToken(token: string, meta: RequestMeta): Promise<Caller | null> {
    if (!isPersonalToken(token)) return null
    const { db, observer } = this.deps
    const found = await findLivePersonalToken(db, sha256(token))
    if (!found) return null
    const { id, accountId, authenticatedAt } = found
    if (found.idle) {
      if (await revokeIdlePersonalToken(db, found))
        observer.personalTokenRevoked({ id, accountId, reason: 'inactive' }, meta)
      return null
    }
    if (found.touch) await touchPersonalToken(db, found)
    return { accountId, authenticatedAt, scope: SCOPE_CONNECT, kind: 'personal', personalTokenId: id }
  }
}
