import type { JwtClaims } from '@signet/jwt'
import type { JsonObject } from '../../users/user.js'

/** Settings of one provider (docs/specification.md#providers). */
export type ProviderSettings = {
  readonly enabled: boolean
  /** The first is used, all are accepted as audience of id tokens. */
  readonly clientIds: readonly string[]
  readonly secret: string
  readonly redirectUri: string
  /** Base URL instead of the provider's own, without trailing slash. */
  readonly baseUrl: string | undefined
  readonly emailOptional: boolean
  readonly skipNonceCheck: boolean
}

export type ProviderEmail = { email: string; verified: boolean; primary: boolean }

/** What a provider says about a person, in the words of docs/specification.md#identity-data. */
export type ProviderProfile = {
  subject: string
  /** In the order of the provider. */
  emails: readonly ProviderEmail[]
  data: ProviderData
}

export type ProviderData = {
  iss?: string | undefined
  name?: string | undefined
  full_name?: string | undefined
  nickname?: string | undefined
  preferred_username?: string | undefined
  user_name?: string | undefined
  slug?: string | undefined
  picture?: string | undefined
  given_name?: string | undefined
  family_name?: string | undefined
  locale?: string | undefined
  custom_claims?: JsonObject | undefined
}

/** What came back for the code. */
export type ProviderTokens = {
  accessToken: string
  refreshToken: string | undefined
  /** The whole token answer, for providers that put more in it. */
  response: JsonObject
}

/** Turns a URL of the provider into the one to use: the same path below another base URL where one is set. */
export type Endpoint = (url: string) => string

/** All that a provider may use to find out who signed in. */
export type ProfileCall = {
  settings: ProviderSettings
  tokens: ProviderTokens
  endpoint: Endpoint
  /** The profile as a library's strategy fetches it from the account URL and parses it. */
  account: () => Promise<unknown>
  /** GET with the access token; rejects unless the answer is a 2xx with JSON. */
  get: (url: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>
  /** Claims of the id token in the token answer, verified; undefined when there is none. */
  idToken: () => Promise<JwtClaims | undefined>
  /** Parameters of the callback, such as apple's `user`. */
  callback: Readonly<Record<string, string>>
}

/** How id tokens of a provider are recognized and read. */
export type OpenIdRules = {
  /** Whether tokens of this issuer are the provider's. */
  isIssuer(issuer: string, settings: ProviderSettings): boolean
  /** Its apps may sign in with id tokens of their own, in the `id_token` grant (docs/specification.md#tokens). */
  readonly idTokenGrant?: true
  /** Its apps cannot choose the nonce of an id token, so the grant compares none. */
  readonly cannotPassNonce?: true
  /** Where the keys are, for issuers without their own discovery document. */
  keysUrl?(endpoint: Endpoint): string
  profile(claims: JwtClaims, settings: ProviderSettings): ProviderProfile
}

/** For operators; docs/providers.md is made of it. */
export type ProviderGuide = {
  /** Where to register the app, and as what. */
  readonly register: string
  /** The profile data it returns. */
  readonly returns: string
  readonly quirks: readonly string[]
  /** Test files in test/providers that cover it, without `.test.ts`. */
  readonly tests: readonly string[]
}

/** A provider: data and a mapping. */
export type ProviderDefinition = {
  /** What pages, emails and error messages call it. */
  readonly label: string
  readonly guide: ProviderGuide
  /** Further names under which clients know it. */
  readonly aliases?: readonly string[]
  readonly scopes: readonly string[]
  /** Authorize and token URL, and the profile's where a library's strategy asks for it; a provider without a default base URL needs the setting. */
  endpoints(
    endpoint: Endpoint,
    settings: ProviderSettings,
  ): { authorize: string; token: string; request?: string; account?: string }
  /** Client authentication at the token URL; by default the secret in the form. */
  readonly clientAuthentication?: 'basic'
  /** OAuth 1.0a signed requests instead of OAuth 2. */
  readonly protocol?: 'oauth1'
  /** The base URL has no default and must be set; what it is, for the documents. */
  readonly requiredBaseUrl?: string
  /** The base URL counts in tests only. */
  readonly fixedBaseUrl?: boolean
  /** Callers must send further parameters, so a page with just a button cannot sign anyone in. */
  readonly needsParameters?: boolean
  /** Additional parameters of the authorize URL; throws when the caller's parameters are incomplete. */
  authorizeParameters?(given: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  readonly openId?: OpenIdRules
  profile(call: ProfileCall): Promise<ProviderProfile>
}

/** Whether the `id_token` grant compares the nonces of the provider's id tokens, unless a setting turns that off. */
export const comparesNonces = ({ openId }: Pick<ProviderDefinition, 'openId'>): boolean =>
  openId?.idTokenGrant === true && !openId.cannotPassNonce

/** The provider's response is unusable. The message is for the log. */
export class ProviderError extends Error {
  override name = 'ProviderError'
}
