import type { Tx } from '@signet/db'
import type { AccountEventStore } from '../account-events/account-event-store.js'
import type { Audit } from '../audit/audit-log.js'
import type { FlowStore } from '../flows/flow-store.js'
import type { PendingChangeStore } from '../users/pending-change-store.js'
import type { User } from '../users/user.js'
import type { SessionEndStore } from './session-end-store.js'
import type { EndReason } from './session.js'

/** What else was cancelled when sessions ended. */
export type Ended = { readonly changeCancelled: boolean }

export const NOTHING_ELSE: Ended = { changeCancelled: false }

/** What audit entries say about the changes of address that were cancelled. `user` is the user before that. */
export function cancelledChanges(user: User, { changeCancelled }: Ended): { cancelled: string }[] {
  if (!changeCancelled) return []
  return [
    ...(user.newEmail === null ? [] : [{ cancelled: 'email' }]),
    ...(user.newPhone === null ? [] : [{ cancelled: 'phone' }]),
  ]
}

/** Writes down which changes of address were cancelled. `user` is the user before that. */
export function recordCancelled(record: Audit, user: User, ended: Ended): void {
  for (const traits of cancelledChanges(user, ended)) record('user_modified', user, traits)
}

type Deps = {
  store: SessionEndStore
  flows: FlowStore
  changes: PendingChangeStore
  accountEvents: AccountEventStore
  now: () => Date
}

/**
 * Ends sessions, for every reason except reuse of a refresh token (refresh-store.ts) and too many open sessions (session-bounds-store.ts).
 * Other services are informed right after the commit. Until then, what they granted because of a session keeps working.
 */
export class SessionEnds {
  constructor(private readonly deps: Deps) {}

  /** Ends all sessions of a user, and what other services granted because of them. */
  async all(tx: Tx, userId: string, reason: EndReason): Promise<Ended> {
    const { store, accountEvents, now } = this.deps
    // Other services know nothing about a user who has never signed in. They would also refuse the first sign-in if it came in the same
    // second as the message that everything before it has ended.
    const knownElsewhere = reason !== 'address_proved' || (await store.hasAny(tx, userId))
    await store.endAll(tx, userId, reason, now())
    const ended = await this.voidUnfinished(tx, userId)
    // Most applications call logout with scope `global` by default. Keep the known networks, so that the same person can sign in
    // again from home.
    if (reason !== 'logout') await store.forgetNetworks(tx, userId, null)
    // Read the clock after the update: it waits for refreshes in progress, whose tokens must count as issued before the sign-out.
    if (!REPORTED_BY_TRIGGER.has(reason) && knownElsewhere) await accountEvents.signedOut(tx, userId, now())
    return ended
  }

  /** Ends one session. Returns false if it is not the user's, or has already ended. */
  async one(tx: Tx, userId: string, sessionId: string, reason: EndReason): Promise<boolean> {
    const { store, now } = this.deps
    return (await store.end(tx, userId, reason, { only: sessionId }, now())) > 0
  }

  /**
   * Ends a sign-in on the pages and the sessions that applications got through it. Returns false if it is not the user's, or has already
   * ended.
   */
  async signIn(tx: Tx, userId: string, signInId: string, reason: EndReason): Promise<boolean> {
    const { store, now } = this.deps
    return (await store.end(tx, userId, reason, { onlySignIn: signInId }, now())) > 0
  }

  /**
   * Does the same on behalf of another sign-in of the user. The user's row must be locked first. Someone else may be using that sign-in, so
   * this also voids what it may have started. Returns null if it is not the user's, or has already ended.
   */
  async otherSignIn(tx: Tx, userId: string, signInId: string, reason: EndReason): Promise<Ended | null> {
    return (await this.signIn(tx, userId, signInId, reason)) ? this.voidUnfinished(tx, userId) : null
  }

  /** Ends all sign-ins of a user except one. The user's row must be locked first, as for {@link all}. */
  async otherSignIns(tx: Tx, userId: string, keptId: string, reason: EndReason): Promise<Ended> {
    const { store, now } = this.deps
    await store.end(tx, userId, reason, { exceptSignIn: keptId }, now())
    const ended = await this.voidUnfinished(tx, userId)
    await store.forgetNetworks(tx, userId, keptId)
    return ended
  }

  /** Ends all sessions of a user except one. The user's row must be locked first, as for {@link all}. */
  async others(tx: Tx, userId: string, keptId: string, reason: EndReason): Promise<Ended> {
    const { store, now } = this.deps
    await store.end(tx, userId, reason, { except: keptId }, now())
    // A newer sign-in only replaces open sessions.
    if (reason === 'single_session') return NOTHING_ELSE
    const ended = await this.voidUnfinished(tx, userId)
    await store.forgetNetworks(tx, userId, keptId)
    return ended
  }

  /** Ends the other sessions of a user that have never shown a second factor. */
  async weaker(tx: Tx, userId: string, keptId: string, reason: EndReason): Promise<void> {
    await this.deps.store.end(tx, userId, reason, { except: keptId, aal: 'aal1' }, this.deps.now())
  }

  /**
   * Ends the sessions opened with this passkey, except those of one sign-in (null when an administrator removes it). The user's row must be
   * locked.
   */
  async byPasskey(tx: Tx, userId: string, passkeyId: string, keptSignInId: string | null): Promise<Ended> {
    const { store, now } = this.deps
    const kept = keptSignInId === null ? {} : { exceptSignIn: keptSignInId }
    const ended = await store.end(tx, userId, 'passkey_removed', { passkeyId, ...kept }, now())
    return ended > 0 ? this.voidUnfinished(tx, userId) : NOTHING_ELSE
  }

  /** Ends the sessions that an account at this provider opened, except those of one sign-in. The user's row must be locked. */
  async byProvider(tx: Tx, userId: string, provider: string, keptSignInId: string): Promise<Ended> {
    const { store, flows, now } = this.deps
    const scope = { provider, exceptSignIn: keptSignInId }
    const ended = await store.end(tx, userId, 'identity_removed', scope, now())
    const cancelled = ended > 0 ? await this.voidUnfinished(tx, userId) : NOTHING_ELSE
    // A code from signing in with that account, or from linking it, could still open a session.
    await flows.removeCodes(tx, userId, provider)
    return cancelled
  }

  /**
   * Cancels what the ended sessions may have started: PKCE codes, which would open a new session, and changes of address, which would
   * hand over the account once confirmed. Links for sign-in and recovery stay, because only the owner can read the mailbox they went to.
   */
  async voidUnfinished(tx: Tx, userId: string): Promise<Ended> {
    await this.deps.flows.removeCodes(tx, userId)
    return this.cancelChanges(tx, userId)
  }

  async cancelChanges(tx: Tx, userId: string): Promise<Ended> {
    const { changes, now } = this.deps
    return { changeCancelled: await changes.dropAll(tx, userId, now()) }
  }
}

/** Triggers on the users table report these reasons. Lifting a ban restores access. */
const REPORTED_BY_TRIGGER: ReadonlySet<EndReason> = new Set(['ban', 'deletion'])
