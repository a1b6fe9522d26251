import { AddressGuard, guardedAgent, type Resolver } from '@signet/address-guard'
import { ProxyAgent, type Dispatcher } from 'undici'
import type { DispatcherConfig } from '../config/config.js'

/** Connections are closed after this time, so that DNS changes take effect. */
const CONNECTION_LIFE_MS = 60_000
/** Shorter than the idle timeout of common servers, so that we rarely write to a connection they have just closed. */
const IDLE_MS = 4_000

type Options = Pick<DispatcherConfig, 'proxyUrl' | 'allowPrivateTargets' | 'timeoutMs'>

/** What opens and keeps the connections to receivers. `ca`: authorities to trust instead of Node's. */
export function createAgent(
  config: Options,
  { resolver, ca }: { resolver?: Resolver | undefined; ca?: string | undefined },
): Dispatcher {
  // An egress proxy resolves and checks addresses itself.
  if (config.proxyUrl !== undefined)
    return new ProxyAgent({
      uri: config.proxyUrl,
      clientTtl: CONNECTION_LIFE_MS,
      requestTls: { ca, minVersion: 'TLSv1.2' },
    })
  const guard = new AddressGuard({ allowPrivateTargets: config.allowPrivateTargets, resolver })
  return guardedAgent({
    guard,
    ca,
    connectTimeoutMs: config.timeoutMs,
    maxConnectionLifeMs: CONNECTION_LIFE_MS,
    keepAliveMs: IDLE_MS,
  })
}
