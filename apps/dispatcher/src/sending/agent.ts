import { AddressGuard, guardedAgent, type Resolver } from '@signet/address-guard'
import type { Dispatcher } from 'undici'
import type { DispatcherConfig } from '../config/config.js'
import { egressProxy, type EgressProxyOptions } from './egress-proxy.js'

/** Connections are closed after this time, so that DNS changes take effect. */
const CONNECTION_LIFE_MS = 60_000
/** Shorter than the idle timeout of common servers, so that we rarely write to a connection they have just closed. */
const IDLE_MS = 4_000

type Options = Pick<DispatcherConfig, 'proxyUrl' | 'allowPrivateTargets' | 'timeoutMs'>

type AgentPorts = Pick<EgressProxyOptions, 'onProxyFailed'> & {
  resolver?: Resolver | undefined
  /** Authorities to trust instead of Node's. */
  ca?: string | undefined
}

/** What opens and keeps the connections to receivers. */
export function createAgent(config: Options, { resolver, ca, onProxyFailed }: AgentPorts): Dispatcher {
  const { proxyUrl: url, timeoutMs } = config
  if (url !== undefined)
    return egressProxy({ url, maxConnectionLifeMs: CONNECTION_LIFE_MS, timeoutMs, ca, onProxyFailed })
  const guard = new AddressGuard({ allowPrivateTargets: config.allowPrivateTargets, resolver })
  return guardedAgent({
    guard,
    ca,
    connectTimeoutMs: timeoutMs,
    maxConnectionLifeMs: CONNECTION_LIFE_MS,
    keepAliveMs: IDLE_MS,
  })
}
