import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport, type OAuthClientProvider } from '@modelcontextprotocol/client'

type Storage = {
  information?: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>
  tokens?: Awaited<ReturnType<OAuthClientProvider['tokens']>>
  verifier?: string
}

/** A host of MCP clients on a person's own computer, such as an editor or a chat. */
export class McpHost {
  readonly #stored: Storage = {}
  readonly #listener: Server
  readonly #transport: StreamableHTTPClientTransport
  readonly #server: URL
  #authorization: URL | undefined
  #callback: URL | undefined

  private constructor(
    private readonly base: string,
    name: string,
    listener: Server,
  ) {
    const callback = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`
    this.#listener = listener.on('request', (req, res) => {
      const url = new URL(req.url ?? '', callback)
      // Browsers also ask for an icon.
      if (url.pathname === '/callback') this.#callback = url
      res.setHeader('Content-Type', 'text/html').end('<p>You may close this window.</p>')
    })
    this.#server = new URL(`${base}/mcp`)
    this.#transport = this.#newTransport(name, callback)
  }

  static async start(base: string, name: string): Promise<McpHost> {
    const listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return new McpHost(base, name, listener)
  }

  /** Connects without a token, as hosts do, and returns the URL at which the server wants the person to authorize the host. */
  async authorizationUrl(): Promise<string> {
    await this.#newClient()
      .connect(this.#transport)
      .catch(() => undefined)
    if (this.#authorization === undefined) throw new Error('the server did not ask for authorization')
    return this.#authorization.href
  }

  /** Finishes the authorization after the person has approved it. */
  async connect(): Promise<Client> {
    if (this.#callback === undefined) throw new Error('nobody came back from the consent page')
    await this.#transport.finishAuth(this.#callback.searchParams)
    const client = this.#newClient()
    await client.connect(this.#newTransport('', this.#callback.href.split('?')[0] ?? ''))
    return client
  }

  /** Whether the tokens of the host still work. Refreshing replaces them. */
  async answers(): Promise<{ mcp: boolean; refresh: boolean }> {
    const { tokens, information } = this.#stored
    const mcp = await fetch(`${this.base}/v1/webhooks`, {
      headers: { Authorization: `Bearer ${tokens?.access_token ?? ''}` },
    })
    const refresh = await fetch(`${this.base}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens?.refresh_token ?? '',
        client_id: information?.client_id ?? '',
      }),
    })
    if (refresh.ok) this.#stored.tokens = (await refresh.json()) as NonNullable<Storage['tokens']>
    return { mcp: mcp.ok, refresh: refresh.ok }
  }

  async stop(): Promise<void> {
    this.#listener.close()
    this.#listener.closeAllConnections()
    await once(this.#listener, 'close')
  }

  #newClient = () => new Client({ name: 'host', version: '1' })

  #newTransport(name: string, callback: string): StreamableHTTPClientTransport {
    const stored = this.#stored
    const authProvider: OAuthClientProvider = {
      redirectUrl: callback,
      clientMetadata: {
        redirect_uris: [callback],
        client_name: name,
        token_endpoint_auth_method: 'none',
      },
      state: () => 'state-of-the-host',
      clientInformation: () => stored.information,
      saveClientInformation: (information) => void (stored.information = information),
      tokens: () => stored.tokens,
      saveTokens: (tokens) => void (stored.tokens = tokens),
      redirectToAuthorization: (url) => void (this.#authorization = url),
      saveCodeVerifier: (verifier) => void (stored.verifier = verifier),
      codeVerifier: () => stored.verifier ?? '',
    }
    return new StreamableHTTPClientTransport(this.#server, { authProvider })
  }
}
