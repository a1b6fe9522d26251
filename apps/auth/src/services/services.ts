import { AdminActs } from '../administrators/admin-acts.js'
import { createProviderServices } from './providers.js'
import { createAccountServices } from './account.js'
import { createAdministrationServices } from './administration.js'
import { createFoundation } from './foundation.js'
import { OperatorService } from '../operator/operator-service.js'
import type { Parts } from './parts.js'
import { createSignInServices } from './sign-in.js'
import { createPasskeyServices } from './webauthn.js'

export type Services = ReturnType<typeof createServices>

/** Creates everything between routes and stores. */
export function createServices(parts: Parts) {
  const foundation = createFoundation(parts)
  const account = createAccountServices(parts, foundation)
  const signIn = createSignInServices(parts, foundation)
  const { config, db, stores } = parts
  const { audit, sessions, gate, derived, outbox, tokens } = foundation
  const acts = new AdminActs({ users: stores.users, gate, audit })
  const administration = createAdministrationServices(parts, foundation, { ...account, acts })
  return {
    ...createProviderServices({
      ...{ ...parts, ...foundation },
      keys: derived,
      departures: parts.limits.authorize,
    }),
    ...signIn,
    ...account,
    ...createPasskeyServices(parts, foundation, { acts }),
    ...administration,
    operators: new OperatorService({
      ...administration,
      ...signIn,
      db,
      acts,
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
