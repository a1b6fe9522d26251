import { createHash } from 'node:crypto'
import type { Db } from '@signet/db'
import type { SecretBox } from '@signet/webhook-core'
import { AppError } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import type { GrantType } from '../clients/client.js'
import type { AuthenticatedClient } from '../clients/client-service.js'
import { derivedCredential, hasFormOf, newCredential, sameDigest, sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import { OAuthError } from '../oauth/oauth-error.js'
import type { Parameters } from '../oauth/parameters.js'
import { resourcesWithin, type ResourcePolicy } from '../oauth/resource-policy.js'
import { isScopeList, isSubsetOf } from '../oauth/scope.js'
import type { AccountCheck } from './account-check.js'
import {
  findCode,
  findRefreshToken,
  issueFurtherTokens,
  redeemCode,
  revokeGrant,
  rotateRefreshToken,
  type NewTokens,
  type StoredCode,
  type StoredRefreshToken,
} from './token-store.js'

/** The answer of the token endpoint. `refreshToken` is null if the client may not refresh. */
export type IssuedTokens = {
  readonly accessToken: string
  readonly expiresInSeconds: number
  readonly refreshToken: string | null
  readonly scope: string
  readonly email: string
}

type Deps = {
  db: Db
  resources: ResourcePolicy
  accounts: AccountCheck
  secretBox: Pick<SecretBox, 'derive'>
  refreshReuseGraceSeconds: number
  grantMaxDays: number
  observer: Observer
}

export const ACCESS_SECONDS = 3600
export const REFRESH_SECONDS = 90 * 86_400
const DAY_SECONDS = 86_400
const REFRESH_KEY_PURPOSE = 'refresh-token-successor'

type OwnedGrant = Pick<StoredCode, 'grantId' | 'accountId'>
type Grant = Pick<StoredCode, 'grantId' | 'accountId' | 'email' | 'grantAgeSeconds' | 'scope'>

/** The token endpoint's rules (docs/specification.md#token-requests). */
export class TokenService {
  readonly #refreshKey: Buffer

  constructor(private readonly deps: Deps) {
    const [key] = deps.secretBox.derive(REFRESH_KEY_PURPOSE)
    if (!key) throw new Error('no key')
    this.#refreshKey = key
  }

  /** Redeems an authorization code with PKCE. If the code was used before, revokes its grant before returning the error. */
  async redeem(
    client: AuthenticatedClient,
    parameters: Parameters,
    meta: RequestMeta,
  ): Promise<IssuedTokens> {
    const request = readCodeRequest(client, parameters)
    const codeHash = sha256(request.code)
    const stored = hasFormOf('code', request.code) ? await findCode(this.deps.db, codeHash) : null
    if (!stored || stored.clientId !== client.clientId) throw invalidGrant()
    if (stored.used) throw await this.#replayed(stored, 'code_replayed', meta)
    if (stored.accountRefused) throw accountRefused()
    if (stored.redirectUriSent && request.redirectUri === undefined)
      throw new OAuthError('invalid_request', 'redirect_uri is required')
    if (!codeFits(stored, request)) throw invalidGrant()
    const resources = this.#readResources(parameters, stored.resources)
    const refreshToken = client.grantTypes.includes('refresh_token') ? newCredential('refreshToken') : null
    const { tokens, issued } = this.#prepare(stored, { scope: stored.scope, resources }, refreshToken)
    // One of several parallel requests redeems the code. For the others it is a replay, which ends the grant.
    if (!(await redeemCode(this.deps.db, codeHash, tokens)))
      throw await this.#replayed(stored, 'code_replayed', meta)
    this.deps.observer.tokensIssued({ grant: 'authorization_code', clientId: client.clientId }, meta)
    return issued
  }

  /** Redeems a refresh token, with rotation for all clients (OAuth 2.1 section 4.3.1). */
  async refresh(
    client: AuthenticatedClient,
    parameters: Parameters,
    meta: RequestMeta,
  ): Promise<IssuedTokens> {
    const token = parameters.require('refresh_token')
    requireGrantType(client, 'refresh_token')
    const tokenHash = sha256(token)
    const stored = hasFormOf('refreshToken', token) ? await this.#find(tokenHash, client) : null
    if (!stored || stored.clientId !== client.clientId) throw invalidGrant()
    if (stored.revoked) throw stored.accountRefused ? accountRefused() : invalidGrant()
    if (stored.state === 'replayed') throw await this.#replayed(stored, 'refresh_token_replayed', meta)
    if (stored.accountRefused) throw accountRefused()
    if (stored.expired) throw invalidGrant()
    const scope = readRefreshScope(parameters, stored)
    const resources = this.#readResources(parameters, stored.resources)
    const state = await this.deps.accounts.stateOf(stored.accountId, meta)
    if (state === 'gone') {
      await this.#revoke(stored, 'account_unusable', meta)
      throw invalidGrant()
    }
    if (state === 'banned') throw accountRefused()
    const successor = this.#successorOf(token, stored)
    const { tokens, issued } = this.#prepare(stored, { scope, resources }, successor)
    const rotated = stored.state === 'current' && (await rotateRefreshToken(this.deps.db, tokenHash, tokens))
    if (!rotated && !(await issueFurtherTokens(this.deps.db, tokenHash, tokens))) throw invalidGrant()
    this.deps.observer.tokensIssued({ grant: 'refresh_token', clientId: client.clientId }, meta)
    return issued
  }

  #find(tokenHash: Buffer, client: AuthenticatedClient): Promise<StoredRefreshToken | null> {
    const graceSeconds = this.deps.refreshReuseGraceSeconds
    return findRefreshToken(this.deps.db, { tokenHash, arrivedAt: client.arrivedAt, graceSeconds })
  }

  /**
   * Returns the only successor of a refresh token (decision 0180). A client that asks twice, or from several workers at once, gets the
   * same token, so that no second chain begins that could be used unnoticed.
   */
  #successorOf(token: string, { refreshSalt }: StoredRefreshToken): string {
    return derivedCredential('refreshToken', this.#refreshKey, `${refreshSalt} ${token}`)
  }

  /**
   * Returns the resources that the access token is for, or null for all that were granted. A token for one of several servers must not work
   * at the others, because each server that gets it could use it there.
   */
  #readResources(parameters: Parameters, granted: readonly string[]): readonly string[] | null {
    const wanted = parameters.all('resource')
    const acceptable = wanted.every((resource) => this.deps.resources.accepts(resource))
    if (!acceptable || !resourcesWithin(wanted, granted))
      throw new OAuthError('invalid_target', 'resource is not one that was granted')
    return wanted.length === 0 ? null : wanted
  }

  /** The new tokens, and the response to the client. */
  #prepare(
    grant: Grant,
    access: { scope: string; resources: readonly string[] | null },
    refreshToken: string | null,
  ): { tokens: NewTokens; issued: IssuedTokens } {
    const accessToken = newCredential('accessToken')
    const left = this.#secondsLeft(grant.grantAgeSeconds)
    const accessSeconds = Math.min(ACCESS_SECONDS, left)
    return {
      tokens: {
        grantId: grant.grantId,
        accountId: grant.accountId,
        accessHash: sha256(accessToken),
        accessScope: access.scope,
        accessResources: access.resources,
        accessSeconds,
        refreshHash: refreshToken === null ? null : sha256(refreshToken),
        refreshScope: grant.scope,
        refreshSeconds: Math.min(REFRESH_SECONDS, left),
      },
      issued: {
        accessToken,
        expiresInSeconds: accessSeconds,
        refreshToken,
        scope: access.scope,
        email: grant.email,
      },
    }
  }

  /** Seconds until the grant reaches its maximum age. Infinity if there is none. */
  #secondsLeft(grantAgeSeconds: number): number {
    if (this.deps.grantMaxDays === 0) return Infinity
    const left = Math.floor(this.deps.grantMaxDays * DAY_SECONDS - grantAgeSeconds)
    if (left <= 0) throw invalidGrant()
    return left
  }

  /** Revokes the grant before creating the error, so that the revocation is committed and the error cannot roll it back. */
  async #replayed(grant: OwnedGrant, reason: string, meta: RequestMeta): Promise<OAuthError> {
    await this.#revoke(grant, reason, meta)
    return invalidGrant()
  }

  async #revoke(grant: OwnedGrant, reason: string, meta: RequestMeta): Promise<void> {
    if (await revokeGrant(this.deps.db, grant, reason))
      this.deps.observer.grantRevoked({ grantId: grant.grantId, reason }, meta)
  }
}

type CodeRequest = { code: string; redirectUri: string | undefined; verifier: string }

function readCodeRequest(client: AuthenticatedClient, parameters: Parameters): CodeRequest {
  const code = parameters.require('code')
  const verifier = parameters.require('code_verifier')
  requireGrantType(client, 'authorization_code')
  return { code, verifier, redirectUri: parameters.get('redirect_uri') }
}

function requireGrantType(client: AuthenticatedClient, type: GrantType): void {
  if (!client.grantTypes.includes(type))
    throw new OAuthError('unauthorized_client', `The client is not registered for ${type}`)
}

/** Checks expiry, redirect URI and PKCE. A code that does not match is not consumed. */
function codeFits(stored: StoredCode, { redirectUri, verifier }: CodeRequest): boolean {
  const redirectFits =
    redirectUri === undefined ? !stored.redirectUriSent : redirectUri === stored.redirectUri
  return (
    !stored.expired && !stored.grantRevoked && redirectFits && verifierFits(verifier, stored.codeChallenge)
  )
}

// RFC 7636 sections 4.1 and 4.6.
function verifierFits(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const computed = createHash('sha256').update(verifier, 'ascii').digest()
  return sameDigest(computed, Buffer.from(challenge, 'base64url'))
}

/** RFC 6749 section 6: a client may request the granted scope or less. The refresh token keeps the granted scope. */
function readRefreshScope(parameters: Parameters, { scope }: StoredRefreshToken): string {
  const wanted = parameters.get('scope')
  if (wanted === undefined) return scope
  if (!isScopeList(wanted) || !isSubsetOf(wanted, scope))
    throw new OAuthError('invalid_scope', 'scope asks for more than was granted')
  return [...new Set(wanted.split(' '))].join(' ')
}

/** A 401, as for every other credential of such an account (decision 0141). The grant stays, because a ban may be lifted. */
const accountRefused = () =>
  new AppError(
    'unauthenticated',
    'invalid_grant',
    'The account is banned, deleted or was signed out everywhere',
  )

const invalidGrant = () =>
  new OAuthError(
    'invalid_grant',
    'The code or token is unknown, expired, used or revoked, or belongs to another client',
  )
