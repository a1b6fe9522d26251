import type { JwtClaims } from '@signet/jwt'
import type { JsonObject } from '../../users/user.js'
import type { StrategyClass } from './strategy-class.js'

/** Settings of one provider (docs/specification.md#providers). */
export type ProviderSettings = {
  readonly enabled: boolean
  /** The first one is used to sign in. All of them are accepted as audience of id tokens. */
  readonly clientIds: readonly string[]
  readonly secret: string
  readonly redirectUri: string
  /** Replaces the provider's own base URL; without trailing slash. */
  readonly baseUrl: string | undefined
  readonly emailOptional: boolean
  readonly skipNonceCheck: boolean
}

export type ProviderEmail = { email: string; verified: boolean; primary: boolean }

/** What a provider says about a person, with the names of docs/specification.md#identity-data. */
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

/** What the provider returned for the code. */
export type ProviderTokens = {
  accessToken: string
  refreshToken: string | undefined
  /** The whole token response, for providers that put more data into it. */
  response: JsonObject
}

/** Turns a URL of the provider into the one to call. If a base URL is set, that is the same path below the base URL. */
export type Endpoint = (url: string) => string

/** Everything that a provider's mapping may use to find out who signed in. */
export type ProfileCall = {
  settings: ProviderSettings
  tokens: ProviderTokens
  endpoint: Endpoint
  /** Fetches the profile from the account URL and parses it with the library's strategy. */
  account: () => Promise<unknown>
  /** GET with the access token; rejects unless the answer is a 2xx with JSON. */
  get: (url: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>
  /** The verified claims of the id token in the token response; undefined if it has none. */
  idToken: () => Promise<JwtClaims | undefined>
  /** Parameters of the callback, such as apple's `user`. */
  callback: Readonly<Record<string, string>>
}

/** How id tokens of a provider are recognized and read. */
export type OpenIdRules = {
  /** Whether this issuer is the provider. */
  isIssuer(issuer: string, settings: ProviderSettings): boolean
  /** The provider's apps may sign in with their own id tokens, in the `id_token` grant (docs/specification.md#tokens). */
  readonly idTokenGrant?: true
  /** The provider's apps cannot choose the nonce of an id token, so the grant does not compare it. */
  readonly cannotPassNonce?: true
  /** The URL of the keys, for issuers without a discovery document of their own. */
  keysUrl?(endpoint: Endpoint): string
  /** The issuer with the discovery document, if tokens may name it in more than one way. */
  discoveredAt?(settings: ProviderSettings): string
  profile(claims: JwtClaims, settings: ProviderSettings): ProviderProfile
}

/** Information for operators, from which docs/providers.md is generated. */
export type ProviderGuide = {
  /** Where to register the app, and which kind of app. */
  readonly register: string
  /** The profile data it returns. */
  readonly returns: string
  readonly quirks: readonly string[]
  /** Test files in test/providers that cover it, without `.test.ts`. */
  readonly tests: readonly string[]
}

/** A provider, described by data and a function that maps its profile. */
export type ProviderDefinition = {
  /** The name on pages, and in emails and error messages. */
  readonly label: string
  readonly guide: ProviderGuide
  /** Other names that clients use for it. */
  readonly aliases?: readonly string[]
  readonly scopes: readonly string[]
  /**
   * The authorize and token URLs, and the account URL if a library's strategy needs it. If the provider has no default base URL, they
   * depend on the setting.
   */
  endpoints(
    endpoint: Endpoint,
    settings: ProviderSettings,
  ): { authorize: string; token: string; request?: string; account?: string }
  /** How the client authenticates at the token URL; by default with the secret in the form. */
  readonly clientAuthentication?: 'basic'
  /** Signed requests of OAuth 1.0a instead of OAuth 2. */
  readonly protocol?: 'oauth1'
  /** Loads the library that fetches and parses the profile; plain OAuth 2 if left out. */
  strategy?(): Promise<StrategyClass>
  /** Set if the base URL has no default and must be configured. The text describes it in the documents. */
  readonly requiredBaseUrl?: string
  /** The setting for the base URL only has an effect in tests. */
  readonly fixedBaseUrl?: boolean
  /** Callers must send more parameters, so a page with only a button cannot sign anyone in. */
  readonly needsParameters?: boolean
  /** Additional parameters of the authorize URL. Throws if the caller's parameters are incomplete. */
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
