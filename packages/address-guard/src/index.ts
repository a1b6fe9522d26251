/**
 * Decides which addresses our servers may connect to. Everything that calls a URL from outside goes through it:
 * webhook deliveries, identity providers, email templates.
 */
export { AddressGuard, BlockedAddressError, NameNotResolvedError } from './address-guard.js'
export {
  observeConnection,
  peerOf,
  takeConnectionPhases,
  type ConnectionPhases,
} from './connection-timing.js'
export type { Resolver } from './resolver.js'
export { droppedWhenUnused } from './agent-factory.js'
export { guardedAgent } from './guarded-agent.js'
export { isPublicAddress } from './ip-ranges.js'
export { TLS_WITH_STRANGERS } from './tls-options.js'
