import { AuditListStore } from './admin/audit-list-store.js'
import { UserListStore } from './admin/user-list-store.js'
import { AuditStore } from './audit/audit-store.js'
import { CleanupStore } from './cleanup/cleanup-store.js'
import { ChallengeStore } from './factors/challenge-store.js'
import { FactorStore } from './factors/factor-store.js'
import { SessionLevelStore } from './factors/session-level-store.js'
import { FlowStore } from './flows/flow-store.js'
import { OAuthFlowStore } from './flows/oauth-flow-store.js'
import { OneTimeTokenStore } from './one-time-tokens/one-time-token-store.js'
import { UnsentMessageStore } from './one-time-tokens/unsent-message-store.js'
import { RefreshStore } from './sessions/refresh-store.js'
import { SessionStore } from './sessions/session-store.js'
import { type Tables } from './tables.js'
import { IdentityStore } from './users/identity-store.js'
import { UserStore } from './users/user-store.js'

export type Stores = ReturnType<typeof createStores>

/** All SQL of the service, over tables of one namespace. */
export function createStores(tables: Tables) {
  return {
    users: new UserStore(tables),
    identities: new IdentityStore(tables),
    sessions: new SessionStore(tables),
    refresh: new RefreshStore(tables),
    flows: new FlowStore(tables),
    oauthFlows: new OAuthFlowStore(tables),
    tokens: new OneTimeTokenStore(tables),
    unsentMessages: new UnsentMessageStore(tables),
    audit: new AuditStore(tables),
    factors: new FactorStore(tables),
    challenges: new ChallengeStore(tables),
    levels: new SessionLevelStore(tables),
    userLists: new UserListStore(tables),
    auditLists: new AuditListStore(tables),
    cleanup: new CleanupStore(tables),
  }
}
