import { createProviderServices } from './providers.js'
import { createAccountServices } from './account.js'
import { createAdministrationServices } from './administration.js'
import { createFoundation } from './foundation.js'
import { OperatorService } from '../operator/operator-service.js'
import type { Parts } from './parts.js'
import { createSignInServices } from './sign-in.js'
import { createPasskeyServices } from './webauthn.js'

export type Services = ReturnType<typeof createServices>

/** Everything between routes and stores. */
export function createServices(parts: Parts) {
  const foundation = createFoundation(parts)
  const account = createAccountServices(parts, foundation)
  const signIn = createSignInServices(parts, foundation)
  const administration = createAdministrationServices(parts, foundation, account)
  const { config, db, stores } = parts
  const { audit, sessions, gate, derived, outbox, tokens } = foundation
  return {
    ...createProviderServices({ ...parts, ...foundation, keys: derived }),
    ...signIn,
    ...account,
    ...createPasskeyServices(parts, foundation),
    ...administration,
    operators: new OperatorService({
      ...administration,
      ...signIn,
      db,
      audit,
      ends: foundation.ends,
      users: stores.users,
      lists: stores.userLists,
      sessionLists: stores.sessionLists,
      entries: stores.auditLists,
      credentials: stores.credentials,
      recoveryCodes: stores.recoveryCodes,
      siteUrl: config.siteUrl,
    }),
    pageKey: derived.pages,
    flowKey: derived.flows,
    audit,
    outbox,
    tokens,
    sessions,
    gate,
  }
}
