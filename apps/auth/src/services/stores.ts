import { AccountEventStore } from '../account-events/account-event-store.js'
import { AuditListStore } from '../admin/audit-list-store.js'
import { UserListStore } from '../admin/user-list-store.js'
import { AuditStore } from '../audit/audit-store.js'
import { CleanupStore } from '../cleanup/cleanup-store.js'
import { ChallengeStore } from '../factors/challenge-store.js'
import { FactorStore } from '../factors/factor-store.js'
import { RecoveryCodeStore } from '../factors/recovery-code-store.js'
import { SessionLevelStore } from '../factors/session-level-store.js'
import { SigningKeyStore } from '../keys/signing-key-store.js'
import { FlowStore } from '../flows/flow-store.js'
import { OAuthFlowStore } from '../flows/oauth-flow-store.js'
import { CodeAttemptStore } from '../one-time-tokens/code-attempt-store.js'
import { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { OutboxStore } from '../outbox/outbox-store.js'
import { MessageRequestStore } from '../messages/message-request-store.js'
import { RefreshStore } from '../sessions/refresh-store.js'
import { SessionBoundsStore } from '../sessions/session-bounds-store.js'
import { SessionEndStore } from '../sessions/session-end-store.js'
import { SessionListStore } from '../sessions/session-list-store.js'
import { SessionStore } from '../sessions/session-store.js'
import { GuessStore } from '../sign-in/guess-store.js'
import { PendingSignUpStore } from '../users/pending-sign-up-store.js'
import { RepeatedSignUpStore } from '../users/repeated-sign-up-store.js'
import type { Tables } from '../database/tables.js'
import { IdentityStore } from '../users/identity-store.js'
import { PendingChangeStore } from '../users/pending-change-store.js'
import { UserStore } from '../users/user-store.js'
import { CredentialStore } from '../webauthn/credential-store.js'
import { SpentChallengeStore } from '../webauthn/spent-challenge-store.js'

export type Stores = ReturnType<typeof createStores>

/** All SQL of the service, for the tables of one namespace. */
export function createStores(tables: Tables) {
  const outbox = new OutboxStore(tables)
  const accountEvents = new AccountEventStore(tables, outbox)
  return {
    users: new UserStore(tables, accountEvents),
    pendingChanges: new PendingChangeStore(tables),
    identities: new IdentityStore(tables),
    sessions: new SessionStore(tables),
    sessionEnds: new SessionEndStore(tables, accountEvents),
    sessionBounds: new SessionBoundsStore(tables, accountEvents),
    sessionLists: new SessionListStore(tables),
    refresh: new RefreshStore(tables, accountEvents),
    flows: new FlowStore(tables),
    oauthFlows: new OAuthFlowStore(tables),
    tokens: new OneTimeTokenStore(tables),
    pendingSignUps: new PendingSignUpStore(tables),
    repeatedSignUps: new RepeatedSignUpStore(tables),
    codeAttempts: new CodeAttemptStore(tables),
    messageRequests: new MessageRequestStore(tables),
    outbox,
    accountEvents,
    signingKeys: new SigningKeyStore(tables),
    audit: new AuditStore(tables),
    factors: new FactorStore(tables),
    challenges: new ChallengeStore(tables),
    recoveryCodes: new RecoveryCodeStore(tables),
    levels: new SessionLevelStore(tables),
    credentials: new CredentialStore(tables),
    spentChallenges: new SpentChallengeStore(tables),
    guesses: new GuessStore(tables),
    userLists: new UserListStore(tables),
    auditLists: new AuditListStore(tables),
    cleanup: new CleanupStore(tables),
  }
}
