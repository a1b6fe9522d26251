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

/** Who calls, by which credential, and what it may do. */
export type Caller = {
  readonly accountId: string
  /** When the identity server vouched for the person from whose sign-in the credential comes. */
  readonly authenticatedAt: Date
  readonly scope: string
  readonly kind: 'access' | 'personal'
  /** Empty for an access token. */
  readonly personalTokenId: string
}

type Deps = { db: Db; resources: ResourcePolicy; observer: Observer }

/** Resolves Bearer tokens. Each costs one indexed query, and nothing is remembered, so a revocation works at once. */
export class BearerService {
  constructor(private readonly deps: Deps) {}

  /** Null for every token that does not work here, for any reason. */
  async resolve(token: string, meta: RequestMeta): Promise<Caller | null> {
    if (hasFormOf('accessToken', token)) return this.#accessToken(token)
    return this.resolvePersonalToken(token, meta)
  }

  async #accessToken(token: string): Promise<Caller | null> {
    const found = await findLiveAccessToken(this.deps.db, sha256(token))
    // A token that was asked for another resource server is not for this one (RFC 8707 section 2).
    if (!found || !this.deps.resources.coversOwn(found.resources)) return null
    const { accountId, authenticatedAt, scope } = found
    return { accountId, authenticatedAt, scope, kind: 'access', personalTokenId: '' }
  }

  /** As {@link resolve}, for personal tokens alone. Counts as a use; a token that idled too long ends here. */
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
