import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  customFetch,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRevocationResponse,
  revocationRequest,
  validateAuthResponse,
  type AuthorizationServer as Metadata,
  type Client,
  type CustomFetchOptions,
} from 'oauth4webapi'
import { notThisService, type HttpClient } from '../api/http-client.js'
import { ServerFailureError } from '../errors.js'
import { oauthFailure } from './oauth-failures.js'

/** The service registers this client itself, with loopback redirect URIs on any port. */
const CLIENT: Client = { client_id: 'svcl_cli' }
const SCOPE = 'mcp:connect tokens:manage'
const METADATA_PATH = '/.well-known/oauth-authorization-server'

export type Tokens = { accessToken: string; refreshToken: string | undefined; email: string }

/** OAuth requests of a public client to the webhooks service. Endpoints come from the service's metadata document. */
export class AuthorizationServer {
  readonly #options: Record<symbol, unknown>

  private constructor(
    readonly serviceUrl: string,
    private readonly metadata: Metadata,
    http: HttpClient,
  ) {
    this.#options = {
      [customFetch]: (url: string, init: CustomFetchOptions<string, RequestInit['body']>) =>
        http.fetch(new URL(url), { method: init.method, headers: init.headers, body: init.body ?? null }),
      // Allowed only if the service's own address was accepted with http: then its endpoints may use http too.
      [allowInsecureRequests]: serviceUrl.startsWith('http:'),
    }
  }

  /** Reads the metadata. Its issuer must be the address that was asked. */
  static async discover(serviceUrl: string, http: HttpClient): Promise<AuthorizationServer> {
    const url = new URL(serviceUrl + METADATA_PATH)
    const response = await http.fetch(url, { headers: { accept: 'application/json' } })
    const isDocument = response.headers.get('content-type')?.startsWith('application/json')
    if (response.status !== 200 || !isDocument) throw notThisService(response.status, url)
    return translated(serviceUrl, async () => {
      const metadata = await processDiscoveryResponse(new URL(serviceUrl), response)
      return new AuthorizationServer(serviceUrl, metadata, http)
    })
  }

  authorizationUrl({
    redirectUri,
    state,
    challenge,
  }: Record<'redirectUri' | 'state' | 'challenge', string>): URL {
    const { authorization_endpoint: endpoint = '' } = this.metadata
    const isAllowed =
      /^https:\/\//.test(endpoint) || (this.serviceUrl.startsWith('http:') && /^http:\/\//.test(endpoint))
    // The system's opener gets this address and would start programs for other schemes.
    if (!isAllowed) throw new ServerFailureError(`${this.serviceUrl} names no usable authorization endpoint`)
    const url = new URL(endpoint)
    const parameters = {
      response_type: 'code',
      client_id: CLIENT.client_id,
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url
  }

  /** Checks state and issuer of the callback (RFC 9207) and redeems its code. */
  redeem(
    callback: URLSearchParams,
    { redirectUri, state, verifier }: Record<'redirectUri' | 'state' | 'verifier', string>,
  ): Promise<Tokens> {
    return translated(this.serviceUrl, async () => {
      const checked = validateAuthResponse(this.metadata, CLIENT, callback, state)
      const response = await authorizationCodeGrantRequest(
        this.metadata,
        CLIENT,
        None(),
        checked,
        redirectUri,
        verifier,
        this.#options,
      )
      const tokens = await processAuthorizationCodeResponse(this.metadata, CLIENT, response)
      return {
        accessToken: tokens.access_token,
        refreshToken: tokens.refresh_token,
        email: typeof tokens['email'] === 'string' ? tokens['email'] : '',
      }
    })
  }

  /** Revoking a refresh token ends its whole grant, access tokens included. */
  revoke(token: string): Promise<void> {
    return translated(this.serviceUrl, async () => {
      const response = await revocationRequest(this.metadata, CLIENT, None(), token, this.#options)
      await processRevocationResponse(response)
    })
  }
}

async function translated<T>(serviceUrl: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw oauthFailure(error, serviceUrl)
  }
}
