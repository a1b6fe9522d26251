import type { Db } from '@signet/db'
import type { SessionStore } from '../sessions/session-store.js'
import type { AmrEntry, Live } from '../sessions/session.js'
import { isProven, type User } from '../users/user.js'
import type { CredentialStore } from '../webauthn/credential-store.js'

/** A sign-in or a second factor older than this no longer proves who sits there. */
const RECENT_MS = 600_000

export const isRecent = (amr: readonly AmrEntry[], now: Date): boolean =>
  amr.some(({ at }) => at.getTime() > now.getTime() - RECENT_MS)

type Deps = {
  db: Db
  sessions: Pick<SessionStore, 'chainOf'>
  credentials: Pick<CredentialStore, 'passkeysOf'>
  now: () => Date
}

/** Who may add a way into an account on its page (docs/specification.md#the-account-page). */
export class RecentProofs {
  constructor(private readonly deps: Deps) {}

  /** Whether somebody signs in again first; never who has nothing to sign in with. */
  async isDue({ user, session }: Live): Promise<boolean> {
    const { db, sessions, credentials, now } = this.deps
    const amr = (await sessions.chainOf(db, session.id))?.amr ?? []
    if (isRecent(amr, now())) return false
    return canSignIn(user) || (await credentials.passkeysOf(db, user.id)).length > 0
  }
}

const canSignIn = (user: User): boolean =>
  user.passwordHash !== null ||
  isProven(user) ||
  user.identities.some(({ provider }) => provider !== 'email' && provider !== 'phone')
