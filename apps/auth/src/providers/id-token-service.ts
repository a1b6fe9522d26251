import { createHash } from 'node:crypto'
import { JwtError, type JwtClaims } from '@signet/jwt'
import { authError, invalid } from '../errors/auth-error.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SignedIn } from '../sessions/session.js'
import { definitions, providers, type Provider } from './definitions/index.js'
import { flagAt, oneEmail, subjectAt, textAt } from './model/foreign-json.js'
import { withUsableEmails } from './linking/external-identities.js'
import type { ExternalSignIn, Purpose } from './linking/external-sign-in.js'
import { claimedIssuer, type IdTokenVerifier } from './open-id/id-token-verifier.js'
import { endpointBelow, type ProviderRegistry } from './provider-registry.js'
import {
  comparesNonces,
  type OpenIdRules,
  type ProviderDefinition,
  type ProviderProfile,
} from './model/provider.js'

export type IdTokenRequest = {
  id_token?: string
  provider?: string
  client_id?: string
  issuer?: string
  nonce?: string
  access_token?: string
}

export type IdTokenRules = {
  /** Other issuers whose tokens are accepted. A token must be for the client that the request names. */
  readonly allowedIssuers: readonly string[]
  readonly iosBundleId: string | undefined
  readonly siteUrl: string
}

/** An OAuth error (docs/specification.md#oauth-errors): always status 400, with `error` and `error_description`. */
export class OAuthRefusal extends Error {
  override name = 'OAuthRefusal'

  constructor(
    readonly error: 'invalid request' | 'invalid nonce',
    readonly description: string,
    options?: ErrorOptions,
  ) {
    super(description, options)
  }
}

type Deps = {
  registry: ProviderRegistry
  idTokens: IdTokenVerifier
  signIns: ExternalSignIn
  sessions: SessionService
  rules: IdTokenRules
}

/** The expected issuer of a token, and how to read it. */
type Expectation = {
  provider: string
  isIssuer: (issuer: string) => boolean
  audiences: readonly string[]
  keysUrl: string | undefined
  discoveredAt: string | undefined
  checkNonce: boolean
  emailOptional: boolean
  profile: (claims: JwtClaims) => ProviderProfile
}

const openIdOf = (name: Provider): OpenIdRules | undefined => {
  const { openId }: ProviderDefinition = definitions[name]
  return openId
}

/** Providers whose apps sign in with their own id tokens (docs/specification.md#tokens). */
const idTokenProviders = providers.filter((name) => openIdOf(name)?.idTokenGrant)

/** The id_token grant (docs/specification.md#tokens). */
export class IdTokenService {
  constructor(private readonly deps: Deps) {}

  async signIn(request: IdTokenRequest, purpose: Purpose, meta: RequestMeta): Promise<SignedIn> {
    const { id_token: token = '', provider = '', client_id: clientId = '', issuer = '' } = request
    if (token === '') throw new OAuthRefusal('invalid request', 'id_token required')
    if (provider === '' && (clientId === '' || issuer === ''))
      throw new OAuthRefusal('invalid request', 'provider or client_id and issuer required')
    const expected = this.#expectation(provider.toLowerCase(), clientId, issuer)
    const claims = await this.#verify(token, expected, request.access_token)
    if (expected.checkNonce) checkNonce(claims['nonce'], request.nonce)
    const profile = withUsableEmails(expected.profile(claims))
    if (profile.emails.length === 0 && !expected.emailOptional)
      throw new OAuthRefusal('invalid request', 'The id_token contains no email address')
    const { signIns, sessions, rules } = this.deps
    const external = { provider: expected.provider, profile, from: meta.client }
    return signIns.run({ external, purpose, redirectTo: rules.siteUrl }, meta, (tx, audit, user) => {
      audit('login', user, { provider: expected.provider })
      return sessions.openByProvider(tx, user, expected.provider, meta)
    })
  }

  #expectation(provider: string, clientId: string, issuer: string): Expectation {
    const known = idTokenProviders.find((name) =>
      provider === ''
        ? openIdOf(name)?.isIssuer(issuer, this.deps.registry.settingsOf(name))
        : name === provider,
    )
    return known ? this.#ofProvider(known) : this.#ofIssuer(clientId, issuer)
  }

  #ofProvider(name: Provider): Expectation {
    const openId = openIdOf(name)
    const settings = this.deps.registry.settingsOf(name)
    if (!settings.enabled || !openId)
      throw authError('invalid', 'provider_disabled', `Provider (issuer "${name}") is not enabled`)
    const { iosBundleId } = this.deps.rules
    const isApp = name === 'apple' && iosBundleId !== undefined
    return {
      provider: name,
      isIssuer: (issuer) => openId.isIssuer(issuer, settings),
      audiences: isApp ? [...settings.clientIds, iosBundleId] : settings.clientIds,
      keysUrl: openId.keysUrl?.(endpointBelow(settings.baseUrl)),
      discoveredAt: openId.discoveredAt?.(settings),
      checkNonce: comparesNonces({ openId }) && !settings.skipNonceCheck,
      emailOptional: settings.emailOptional,
      profile: (claims) => openId.profile(claims, settings),
    }
  }

  /**
   * Names the identities after the issuer, never after the request. An issuer that could use a provider's name could impersonate that
   * provider.
   */
  #ofIssuer(clientId: string, issuer: string): Expectation {
    if (issuer === '' || clientId === '' || !this.deps.rules.allowedIssuers.includes(issuer))
      throw invalid('The provider or issuer of the id_token is not allowed')
    return {
      provider: issuer,
      isIssuer: (claimed) => claimed === issuer,
      audiences: [clientId],
      keysUrl: undefined,
      discoveredAt: undefined,
      checkNonce: true,
      emailOptional: false,
      profile: genericProfile,
    }
  }

  async #verify(token: string, expected: Expectation, accessToken: string | undefined): Promise<JwtClaims> {
    const issuer = claimedIssuer(token)
    if (issuer === undefined || !expected.isIssuer(issuer))
      throw new OAuthRefusal('invalid request', 'Unacceptable issuer in id_token')
    const { audiences, keysUrl, discoveredAt } = expected
    try {
      return await this.deps.idTokens.verify({ token, issuer, audiences, keysUrl, discoveredAt, accessToken })
    } catch (cause) {
      if (!(cause instanceof JwtError))
        throw authError('internal', 'unexpected_failure', 'The keys of the issuer could not be fetched', {
          cause,
        })
      const reason = cause.reason === 'audience' ? 'Unacceptable audience in id_token' : 'Bad ID token'
      throw new OAuthRefusal('invalid request', reason, { cause })
    }
  }
}

/** The request has the nonce itself, and the token only its SHA-256. So someone who only sees the token cannot use it. */
function checkNonce(inToken: unknown, given: string | undefined): void {
  const hashed = typeof inToken === 'string' ? inToken : ''
  const nonce = given ?? ''
  if ((hashed === '') !== (nonce === ''))
    throw new OAuthRefusal(
      'invalid request',
      'Passed nonce and nonce in id_token should either both exist or not.',
    )
  if (nonce !== '' && createHash('sha256').update(nonce).digest('hex') !== hashed)
    throw new OAuthRefusal('invalid nonce', 'Nonces mismatch')
}

function genericProfile(claims: JwtClaims): ProviderProfile {
  return {
    subject: subjectAt(claims, 'sub'),
    emails: oneEmail(textAt(claims, 'email'), flagAt(claims, 'email_verified')),
    data: {
      iss: textAt(claims, 'iss'),
      name: textAt(claims, 'name'),
      preferred_username: textAt(claims, 'preferred_username'),
      given_name: textAt(claims, 'given_name'),
      family_name: textAt(claims, 'family_name'),
      picture: textAt(claims, 'picture'),
      locale: textAt(claims, 'locale'),
    },
  }
}
