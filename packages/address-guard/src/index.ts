/**
 * Decides which addresses our servers may connect to. Everything that calls a URL chosen by somebody else goes through it:
 * webhook deliveries, identity providers, email templates.
 */
export {
  AddressGuard,
  BlockedAddressError,
  NameNotResolvedError,
  type AddressGuardOptions,
} from './address-guard.js'
export { takeConnectionPhases, witnessConnection, type ConnectionPhases } from './connection-timing.js'
export type { ResolvedAddress, Resolver } from './resolver.js'
export { guardedAgent, guardedConnector, type GuardedAgentOptions } from './guarded-agent.js'
export { isPublicAddress } from './ip-ranges.js'
