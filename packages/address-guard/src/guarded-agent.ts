import { Agent, buildConnector } from 'undici'
import { type AddressGuard } from './address-guard.js'

export type GuardedAgentOptions = {
  guard: AddressGuard
  /** Limit for resolve, connect and TLS together, in ms. */
  connectTimeoutMs?: number
  /** A connection is closed after this time, so that a changed DNS answer takes effect (contract F.5). */
  maxConnectionLifeMs?: number
  /** Idle connections are kept this long. */
  keepAliveMs?: number
  /** Certificate authorities instead of Node's, for receivers in tests. */
  ca?: string | Buffer | (string | Buffer)[]
}

/** `undici` hands connectors the host of IPv6 literals without brackets. */
type Connector = buildConnector.connector

/**
 * Opens connections to checked addresses only (contract E.8 row 6): names go through the guard's `lookup` at the moment
 * of connecting, literals are judged here because `lookup` is not called for them. The host name stays in place for SNI,
 * for the Host header and for the certificate check.
 */
export function guardedConnector({ guard, connectTimeoutMs = 5000, ca }: GuardedAgentOptions): Connector {
  const connect = buildConnector({
    lookup: guard.lookup,
    timeout: connectTimeoutMs,
    allowH2: false,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    autoSelectFamily: true,
    ca,
  })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1')
    try {
      guard.requireAllowedLiteral(host)
    } catch (error) {
      // Later, as for every other connection failure: the client is not ready for a callback during the call.
      queueMicrotask(() => callback(error as Error, null))
      return
    }
    // The root dot names the same host, but SNI must come without it (RFC 6066 section 3).
    const servername = host.endsWith('.') ? host.slice(0, -1) : options.servername
    connect({ ...options, servername }, callback)
  }
}

/**
 * A pool of keep-alive connections per origin for deliveries, each opened by `guardedConnector`. Follows no redirects and
 * sets no limits of its own on the exchange: a delivery has one deadline over the whole of it.
 */
export function guardedAgent(options: GuardedAgentOptions): Agent {
  return new Agent({
    connect: guardedConnector(options),
    clientTtl: options.maxConnectionLifeMs ?? 60_000,
    keepAliveTimeout: options.keepAliveMs ?? 10_000,
    keepAliveMaxTimeout: options.maxConnectionLifeMs ?? 60_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
  })
}
