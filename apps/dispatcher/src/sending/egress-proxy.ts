import type { Socket } from 'node:net'
import { BlockedAddressError, droppedWhenUnused, TLS_WITH_STRANGERS } from '@signet/address-guard'
import { Agent, buildConnector, errors, Pool } from 'undici'

/** The egress proxy cannot be reached, does not accept us or does not answer, which says nothing about the receiver. */
export class ProxyFailedError extends Error {
  override name = 'ProxyFailedError'
}

/** The proxy could not reach the receiver. */
class NoTunnelError extends Error {
  constructor(readonly code: 'ETIMEDOUT' | 'EHOSTUNREACH') {
    super('the egress proxy could not reach the receiver')
  }
}

export type EgressProxyOptions = {
  url: string
  /** Creates the pool of connections to a receiver. */
  factory: (origin: string | URL, options: object) => Pool
  /** Connections are closed after this time. */
  maxConnectionLifeMs: number
  /** How long idle connections are kept. */
  keepAliveMs: number
  /** Time limit of an attempt, after which nobody waits for a tunnel. */
  timeoutMs: number
  ca: string | undefined
  /** Called with the reason for a `ProxyFailedError`. */
  onProxyFailed: (reason: unknown) => void
}

/** Longer than connecting to our own proxy takes, and shorter than an attempt: its failure must not be taken for the receiver's. */
const CONNECT_MS = 1000

/**
 * Sends requests through tunnels of an egress proxy, which resolves and checks addresses itself. `ProxyAgent` of `undici` would do so with
 * the root dot of a name in SNI.
 */
export function egressProxy({
  url,
  factory,
  maxConnectionLifeMs,
  keepAliveMs,
  ...options
}: EgressProxyOptions) {
  const proxy = new TunnelProxy(new URL(url), options)
  const agent = new Agent({
    factory: droppedWhenUnused(factory),
    connect: tunnelConnector(proxy, options),
    clientTtl: maxConnectionLifeMs,
    keepAliveTimeout: keepAliveMs,
    // What a receiver asks for in `Keep-Alive` does not make it longer.
    keepAliveMaxTimeout: keepAliveMs,
  })
  return {
    dispatch: agent.dispatch.bind(agent),
    destroy: async () => void (await Promise.all([agent.destroy(), proxy.destroy()])),
  }
}

function tunnelConnector(
  proxy: TunnelProxy,
  { ca, timeoutMs }: Pick<EgressProxyOptions, 'ca' | 'timeoutMs'>,
): buildConnector.connector {
  const secure = buildConnector({ ...TLS_WITH_STRANGERS, ca, timeout: timeoutMs })
  return (options, callback) => {
    const { protocol, hostname, host = hostname, port } = options
    const isSecure = protocol === 'https:'
    // SNI must not contain the root dot (RFC 6066 section 3).
    const servername = hostname.endsWith('.') ? hostname.slice(0, -1) : options.servername
    proxy.tunnelTo(port ? host : `${host}:${isSecure ? 443 : 80}`).then(
      (httpSocket) => {
        if (isSecure) secure({ ...options, servername, httpSocket }, callback)
        else if (httpSocket.readableLength === 0) callback(null, httpSocket)
        else {
          // `undici` would take this for a response, drop the connection and open another one, again and again.
          httpSocket.on('error', () => undefined).destroy()
          callback(new Error('bad response'), null)
        }
      },
      (error: Error) => callback(error, null),
    )
  }
}

class TunnelProxy {
  readonly #pool: Pool
  readonly #headers: Record<string, string>
  readonly #failed: (cause: unknown) => ProxyFailedError

  constructor(
    private readonly url: URL,
    { timeoutMs, onProxyFailed }: Pick<EgressProxyOptions, 'timeoutMs' | 'onProxyFailed'>,
  ) {
    this.#failed = (cause) => {
      onProxyFailed(cause)
      return new ProxyFailedError('the egress proxy failed', { cause })
    }
    const open = buildConnector({ timeout: Math.min(CONNECT_MS, timeoutMs / 2) })
    this.#pool = new Pool(url.origin, {
      headersTimeout: timeoutMs,
      connect: (options, callback) =>
        open(options, (...[error, socket]) =>
          error ? callback(this.#failed(error), null) : callback(null, socket),
        ),
    })
    this.#headers = authorizationOf(url)
  }

  /** Resolves with a connection to the receiver, which belongs to the caller. */
  async tunnelTo(target: string): Promise<Socket> {
    // For a proxy that is itself reached over TLS, whose name is not the one in Host.
    const { hostname: servername } = this.url
    const request = { path: target, headers: { ...this.#headers, host: target }, servername }
    const answer = await this.#pool.connect(request).catch((error: unknown) => {
      throw this.#unanswered(error)
    })
    const { statusCode: status, headers } = answer
    const socket = answer.socket as Socket
    if (status === 200) return socket
    socket.on('error', () => undefined).destroy()
    if (status === 407 && headers['proxy-authenticate'] !== undefined)
      throw this.#failed(new Error('the egress proxy does not accept the credentials (407)'))
    // Smokescreen refuses addresses with a 407 that lacks the challenge of one about credentials (RFC 9110 section 15.5.8).
    if (status === 403 || status === 407)
      throw new BlockedAddressError('the egress proxy refuses the address')
    throw new NoTunnelError(status === 504 ? 'ETIMEDOUT' : 'EHOSTUNREACH')
  }

  /**
   * A proxy that reaches no receiver says so: one that breaks off the connection instead, or answers with something else, has failed. While
   * it is silent, it may be waiting for the receiver.
   */
  #unanswered(error: unknown): unknown {
    const isKnown = error instanceof ProxyFailedError
    const mayBeTheReceiver = error instanceof errors.HeadersTimeoutError
    const isOurs = error instanceof errors.ClientDestroyedError
    return isKnown || mayBeTheReceiver || isOurs ? error : this.#failed(error)
  }

  async destroy(): Promise<void> {
    await this.#pool.destroy()
  }
}

function authorizationOf({ username, password }: URL): Record<string, string> {
  if (!username) return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
}
