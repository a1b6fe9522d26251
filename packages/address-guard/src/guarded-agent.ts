import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { Agent, buildConnector, Pool } from 'undici'
import type { AddressGuard } from './address-guard.js'
import { droppedWhenUnused } from './agent-factory.js'
import { timeConnection } from './connection-timing.js'
import { TLS_WITH_STRANGERS } from './tls-options.js'

export type GuardedAgentOptions = {
  guard: AddressGuard
  /** Time limit for DNS lookup, connect and TLS together, in milliseconds. */
  connectTimeoutMs?: number
  /** Connections are closed after this many milliseconds, so that DNS changes take effect. */
  maxConnectionLifeMs?: number
  /** How long idle connections are kept, in milliseconds. */
  keepAliveMs?: number
  /** Creates the pool of connections to an origin. */
  factory?: (origin: string | URL, options: object) => Pool
  /** Certificate authorities to use instead of Node's, for receivers in tests. */
  ca?: string | Buffer | (string | Buffer)[]
}

/**
 * The part of the time limit that each of several addresses has, except the last. Node's default of 250 ms is shorter than the way to
 * another continent and back: a receiver there would be given up for its IPv6 address, even where no IPv6 works.
 */
const SHARE_OF_ADDRESS = 0.3

/** `undici` passes the host of IPv6 literals without brackets. */
type Connector = buildConnector.connector
type CallbackArguments = Parameters<buildConnector.Callback>

/**
 * Loads undici for the first agent: loading it takes longer than the rest of this package, and callers that only check addresses do not
 * need it.
 */
const library = () => createRequire(import.meta.url)('undici') as typeof import('undici')

/**
 * Connects only to checked addresses: names go through the guard's `lookup` when connecting, and literals are checked here
 * because `lookup` is not called for them. The host name stays in place for SNI, the Host header and the certificate check.
 */
function guardedConnector({ guard, connectTimeoutMs = 5000, ca }: GuardedAgentOptions): Connector {
  const connect = library().buildConnector({
    lookup: guard.lookup,
    timeout: connectTimeoutMs,
    allowH2: false,
    ...TLS_WITH_STRANGERS,
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.round(connectTimeoutMs * SHARE_OF_ADDRESS)),
    ca,
  })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1')
    try {
      guard.requireAllowedLiteral(host)
    } catch (error) {
      // Calls back asynchronously, as for every connection failure: the client cannot handle a callback during the call.
      queueMicrotask(() => callback(error as Error, null))
      return
    }
    // A trailing dot names the same host, but SNI must not contain it (RFC 6066 section 3).
    const servername = host.endsWith('.') ? host.slice(0, -1) : options.servername
    // The call returns the socket, although its type does not say so.
    const socket = connect({ ...options, servername }, (...outcome: CallbackArguments) => {
      const [error, connected] = outcome
      conclude(error ?? connected)
      callback(...outcome)
    }) as unknown as Socket
    const conclude = timeConnection(socket)
  }
}

/**
 * A pool of keep-alive connections per origin, each opened by `guardedConnector`. Follows no redirects and sets no timeouts
 * after connecting: the caller has one deadline for the whole exchange.
 */
export function guardedAgent(options: GuardedAgentOptions): Agent {
  const { keepAliveMs = 10_000 } = options
  const undici = library()
  const { factory = (origin, poolOptions) => new undici.Pool(origin, poolOptions) } = options
  return new undici.Agent({
    factory: droppedWhenUnused(factory),
    connect: guardedConnector(options),
    clientTtl: options.maxConnectionLifeMs ?? 60_000,
    keepAliveTimeout: keepAliveMs,
    // What a server asks for in `Keep-Alive` does not make it longer.
    keepAliveMaxTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
  })
}
