import { AddressGuard, guardedAgent, type Resolver } from '@signet/address-guard'
import { Pool, type Dispatcher } from 'undici'
import type { DispatcherConfig } from '../config/config.js'
import { egressProxy, type EgressProxyOptions } from './egress-proxy.js'

/** Connections are closed after this time, so that DNS changes take effect. */
const CONNECTION_LIFE_MS = 60_000
/** Shorter than the idle timeout of common servers, so that we rarely write to a connection they have just closed. */
const IDLE_MS = 4_000
/** While more are open, each is closed after its response: however many accounts and receivers there are, idle ones must fit in memory. */
const MAX_KEPT = 2_000

type Options = Pick<DispatcherConfig, 'proxyUrl' | 'allowPrivateTargets' | 'timeoutMs'>

type Ports = Pick<EgressProxyOptions, 'onProxyFailed'> & {
  resolver?: Resolver | undefined
  /** Authorities to trust instead of Node's. */
  ca?: string | undefined
}

/** The connections to receivers. */
export type Connections = {
  /**
   * Those of one account. No other account uses them, because a response that a receiver sends without a request may be taken for the
   * response to the next request (decision 0259).
   */
  of(accountId: string): Pick<Dispatcher, 'dispatch'>
  destroy(): Promise<void>
}

export function createConnections(config: Options, ports: Ports, maxKept = MAX_KEPT): Connections {
  let open = 0
  const poolOf = (origin: string | URL, options: object) =>
    // `undici` has a pool for each origin that it gets. What `of` adds to it makes that a pool for each account.
    new Pool(new URL(origin).origin, options)
      .on('connect', () => (open += 1))
      .on('disconnect', () => (open -= 1))
  const agent = createAgent(config, ports, poolOf)
  return {
    of: (accountId) => ({
      dispatch: ({ origin, ...options }, handler) =>
        agent.dispatch(
          { ...options, origin: `${String(origin)}#${accountId}`, ...(open >= maxKept && { reset: true }) },
          handler,
        ),
    }),
    destroy: () => agent.destroy(),
  }
}

function createAgent(
  { proxyUrl: url, allowPrivateTargets, timeoutMs }: Options,
  { resolver, ca, onProxyFailed }: Ports,
  factory: EgressProxyOptions['factory'],
): Pick<Dispatcher, 'dispatch' | 'destroy'> {
  const keeping = { factory, maxConnectionLifeMs: CONNECTION_LIFE_MS, keepAliveMs: IDLE_MS, ca }
  if (url !== undefined) return egressProxy({ ...keeping, url, timeoutMs, onProxyFailed })
  const guard = new AddressGuard({ allowPrivateTargets, resolver })
  return guardedAgent({ ...keeping, guard, connectTimeoutMs: timeoutMs })
}
