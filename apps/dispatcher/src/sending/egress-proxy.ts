import { BlockedAddressError, TLS_WITH_STRANGERS } from '@signet/address-guard'
import { buildConnector, Pool, ProxyAgent, type Agent, type Dispatcher } from 'undici'

/** The egress proxy cannot be reached or does not accept us, which says nothing about the receiver. */
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
  factory: NonNullable<Agent.Options['factory']>
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

/** Sends requests through an egress proxy, which resolves and checks addresses itself. */
export const egressProxy = ({
  url,
  factory,
  maxConnectionLifeMs,
  keepAliveMs,
  ca,
  ...options
}: EgressProxyOptions): Dispatcher =>
  new ProxyAgent({
    uri: url,
    factory,
    clientTtl: maxConnectionLifeMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: maxConnectionLifeMs,
    requestTls: { ...TLS_WITH_STRANGERS, ca, timeout: options.timeoutMs },
    clientFactory: (proxy) => tunnelsThrough(proxy, options),
  })

function tunnelsThrough(
  proxy: URL,
  { timeoutMs, onProxyFailed }: Pick<EgressProxyOptions, 'timeoutMs' | 'onProxyFailed'>,
): Dispatcher {
  const failed = (cause: unknown) => {
    onProxyFailed(cause)
    return new ProxyFailedError('the egress proxy failed', { cause })
  }
  const open = buildConnector({ timeout: Math.min(CONNECT_MS, timeoutMs / 2) })
  const pool = new Pool(proxy, {
    headersTimeout: timeoutMs,
    connect: (options, callback) =>
      open(options, (...[error, socket]) => (error ? callback(failed(error), null) : callback(null, socket))),
  })
  const connect: (options: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData> =
    pool.connect.bind(pool)
  const tunnel = async (options: Dispatcher.ConnectOptions) => {
    const answer = await connect(options)
    const { statusCode: status, headers, socket } = answer
    if (status === 200) return answer
    socket.on('error', () => undefined).destroy()
    if (status === 407 && headers['proxy-authenticate'] !== undefined)
      throw failed(new Error('the egress proxy does not accept the credentials (407)'))
    // Smokescreen refuses addresses with a 407 that lacks the challenge of one about credentials (RFC 9110 section 15.5.8).
    if (status === 403 || status === 407)
      throw new BlockedAddressError('the egress proxy refuses the address')
    throw new NoTunnelError(status === 504 ? 'ETIMEDOUT' : 'EHOSTUNREACH')
  }
  return Object.assign(pool, { connect: tunnel })
}
