import { createProviderServices } from './providers.js'
import { createAccountServices } from './account.js'
import { createAdministrationServices } from './administration.js'
import { createFoundation } from './foundation.js'
import type { Parts } from './parts.js'
import { createSignInServices } from './sign-in.js'
import { createPasskeyServices } from './webauthn.js'

export type Services = ReturnType<typeof createServices>

/** Everything between routes and stores. */
export function createServices(parts: Parts) {
  const foundation = createFoundation(parts)
  const { audit, sessions, gate, derived, outbox, tokens } = foundation
  return {
    ...createProviderServices({ ...parts, ...foundation, keys: derived }),
    ...createSignInServices(parts, foundation),
    ...createAccountServices(parts, foundation),
    ...createPasskeyServices(parts, foundation),
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
