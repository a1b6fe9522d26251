import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import type { BearerService } from '../bearer/bearer-service.js'
import { invalidClient } from '../clients/client.js'
import type { AuthenticatedClient } from '../clients/client-service.js'
import { hasFormOf, sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import type { ResourcePolicy } from '../oauth/resource-policy.js'
import { SCOPE_CONNECT } from '../oauth/scope.js'
import {
  describeAccessToken,
  describePersonalToken,
  revokeAccessToken,
  revokeGrantOfRefreshToken,
  type TokenDetails,
} from './revocation-store.js'

type Deps = {
  db: Db
  issuer: string
  bearer: BearerService
  /** Clients that may introspect. */
  introspectionClients: readonly string[]
  resources: ResourcePolicy
  observer: Observer
}

/** Revocation (RFC 7009) and introspection (RFC 7662), docs/specification.md#revocation-and-introspection. */
export class RevocationService {
  constructor(private readonly deps: Deps) {}

  /** Revokes an access token alone, or a refresh token together with its grant. Ignores unknown tokens and those of other clients. */
  async revoke({ clientId }: AuthenticatedClient, token: string, meta: RequestMeta): Promise<void> {
    const owned = { tokenHash: sha256(token), clientId }
    if (hasFormOf('accessToken', token)) return revokeAccessToken(this.deps.db, owned)
    if (!hasFormOf('refreshToken', token)) return
    const grantId = await revokeGrantOfRefreshToken(this.deps.db, owned)
    if (grantId !== null) this.deps.observer.grantRevoked({ grantId, reason: 'revoked_by_client' }, meta)
  }

  /** Returns the answer to a resource server that asks about a token: only `active: false` unless the token is live. */
  async introspect(
    client: AuthenticatedClient,
    token: string,
    meta: RequestMeta,
  ): Promise<Record<string, unknown>> {
    const mayAsk = client.secretHash !== null && this.deps.introspectionClients.includes(client.clientId)
    if (!mayAsk) throw invalidClient()
    const details = await this.#describe(token, meta)
    if (!details) return { active: false }
    return {
      active: true,
      scope: details.scope,
      ...(details.clientId === null ? {} : { client_id: details.clientId }),
      sub: details.accountId,
      iss: this.deps.issuer,
      aud: this.#audienceOf(details),
      exp: details.expiresAt,
      iat: details.issuedAt,
      token_type: 'Bearer',
    }
  }

  #audienceOf({ resources }: TokenDetails): string[] {
    if (resources.length === 0) return [this.deps.issuer]
    return [...new Set(resources.map((resource) => this.deps.resources.nameOf(resource)))]
  }

  async #describe(token: string, meta: RequestMeta): Promise<TokenDetails | null> {
    const { db, bearer } = this.deps
    if (hasFormOf('accessToken', token)) return describeAccessToken(db, sha256(token))
    // Resolving the token counts as a use, and ends it if it has been idle too long.
    if (!(await bearer.resolvePersonalToken(token, meta))) return null
    return describePersonalToken(db, sha256(token), SCOPE_CONNECT)
  }
}
