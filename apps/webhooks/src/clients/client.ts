import { OAuthError } from '../oauth/oauth-error.js'

export const authMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type AuthMethod = (typeof authMethods)[number]

export const grantTypes = ['authorization_code', 'refresh_token'] as const
export type GrantType = (typeof grantTypes)[number]

/** Members that the response to a registration repeats and that have no effect (docs/specification.md#client-registration). */
export type ClientExtra = Readonly<Record<string, string | readonly string[]>>

export type ClientMetadata = {
  readonly redirectUris: readonly string[]
  readonly authMethod: AuthMethod
  readonly grantTypes: readonly GrantType[]
  readonly scope: string
  readonly clientName: string
  readonly extra: ClientExtra
}

export type Client = ClientMetadata & {
  readonly clientId: string
  /** SHA-256 of the secret. Null for a public client. */
  readonly secretHash: Buffer | null
  readonly firstParty: boolean
  readonly disabled: boolean
}

/** Whether a text can be a client id at all. Others need no query. */
export const isClientId = (text: string): boolean => /^svcl_[0-9A-Za-z]{3,24}$/.test(text)

export const invalidClient = (): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed')
