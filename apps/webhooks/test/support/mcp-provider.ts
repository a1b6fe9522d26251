type Metadata = Record<string, unknown> & { redirect_uris: string[] }
type Information = Record<string, unknown> & { client_id: string }
type Tokens = {
  access_token: string
  token_type: string
  refresh_token?: string | undefined
  issuer?: string
}

/** The storage that an MCP host gives to `auth()` of the SDK. It works with both generations of the SDK. */
export class McpProvider {
  information: Information | undefined
  stored: Tokens | undefined
  authorizationUrl: URL | undefined
  discovery: unknown
  readonly forgotten: string[] = []
  #verifier = ''

  constructor(readonly clientMetadata: Metadata) {}

  get redirectUrl(): string {
    return this.clientMetadata.redirect_uris[0] ?? ''
  }

  state = () => 'state-of-the-host'
  clientInformation = () => this.information
  saveClientInformation = (information: Information) => void (this.information = information)
  tokens = () => this.stored
  saveTokens = (tokens: Tokens) => void (this.stored = tokens)
  redirectToAuthorization = (url: URL) => void (this.authorizationUrl = url)
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier)
  codeVerifier = () => this.#verifier
  saveDiscoveryState = (state: unknown) => void (this.discovery = state)
  discoveryState = () => this.discovery as never

  invalidateCredentials = (scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') => {
    this.forgotten.push(scope)
    if (scope === 'all' || scope === 'client') this.information = undefined
    if (scope === 'all' || scope === 'tokens') this.stored = undefined
    if (scope === 'all' || scope === 'discovery') this.discovery = undefined
  }
}
