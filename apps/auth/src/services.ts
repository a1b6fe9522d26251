import { createProviderServices } from './providers/services.js'
import { createAccountServices } from './services/account.js'
import { createAdministrationServices } from './services/administration.js'
import { createFoundation } from './services/foundation.js'
import { type Parts } from './services/parts.js'
import { createSignInServices } from './services/sign-in.js'

/** Everything between routes and stores. */
export function createServices(parts: Parts) {
  const foundation = createFoundation(parts)
  const { audit, sessions, gate, derived, outbox, tokens } = foundation
  return {
    ...createProviderServices({ ...parts, ...foundation, keys: derived }),
    ...createSignInServices(parts, foundation),
    ...createAccountServices(parts, foundation),
    ...createAdministrationServices(parts, foundation),
    pageKey: derived.pages,
    flowKey: derived.flows,
    audit,
    outbox,
    tokens,
    sessions,
    gate,
  }
}
