import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import { newCredential, sameDigest, sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import { invalidClient, isClientId, type Client, type ClientMetadata } from './client.js'
import { readClientMetadata } from './client-metadata.js'
import { findClient, insertClient } from './client-store.js'
import type { RedirectAllowList } from '../redirects/redirect-allow-list.js'

/** How a request identifies its client (RFC 6749 section 2.3). The secret is null if none was sent. */
export type ClientCredentials = { readonly clientId: string; readonly secret: string | null }

export type RegisteredClient = ClientMetadata & {
  readonly clientId: string
  readonly issuedAt: number
  /** Only for confidential clients, and only in the response to the registration. */
  readonly secret: string | null
}

export type AuthenticatedClient = Client & {
  /** Database time before anything else was read, which counts as the arrival of this request. */
  readonly arrivedAt: string
}

type Deps = { db: Db; allowList: RedirectAllowList; observer: Observer }

/** Compared with if the client has no digest, so that the answer takes equally long. */
const NO_DIGEST = Buffer.alloc(32)

export class ClientService {
  constructor(private readonly deps: Deps) {}

  /** Registers a client (RFC 7591). Throws an OAuthError that names the invalid member. */
  async register(body: Readonly<Record<string, unknown>>, meta: RequestMeta): Promise<RegisteredClient> {
    const metadata = readClientMetadata(body, this.deps.allowList)
    const clientId = newCredential('clientId')
    const secret = metadata.authMethod === 'none' ? null : newCredential('clientSecret')
    const { issuedAt } = await insertClient(this.deps.db, {
      ...metadata,
      clientId,
      secretHash: secret === null ? null : sha256(secret),
    })
    this.deps.observer.clientRegistered({ clientId, authMethod: metadata.authMethod }, meta)
    return { ...metadata, clientId, issuedAt, secret }
  }

  /** For the authorization endpoint, where nobody authenticates. Returns null if the client is unknown. */
  async find(clientId: string): Promise<Client | null> {
    return isClientId(clientId) ? ((await findClient(this.deps.db, clientId))?.client ?? null) : null
  }

  /** Authenticates a client (docs/specification.md#token-requests). Every failure is the same `invalid_client`. */
  async authenticate({ clientId, secret }: ClientCredentials): Promise<AuthenticatedClient> {
    const found = isClientId(clientId) ? await findClient(this.deps.db, clientId) : null
    const digest = secret === null ? NO_DIGEST : sha256(secret)
    const secretFits = sameDigest(digest, found?.client.secretHash ?? NO_DIGEST) && secret !== null
    const isPublic = found?.client.authMethod === 'none'
    if (!found || found.client.disabled || !(isPublic ? secret === null : secretFits)) throw invalidClient()
    return { ...found.client, arrivedAt: found.readAt }
  }
}
