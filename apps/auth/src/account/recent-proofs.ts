import type { Db } from '@signet/db'
import type { SessionStore } from '../sessions/session-store.js'
import { authError } from '../errors/auth-error.js'
import type { AmrEntry, Live } from '../sessions/session.js'
import { isProven, type User } from '../users/user.js'
import type { CredentialStore } from '../webauthn/credential-store.js'

/** A sign-in or a second factor older than this no longer proves who is at the browser. */
const RECENT_MS = 600_000

export const isRecent = (amr: readonly AmrEntry[], now: Date): boolean =>
  amr.some(({ at, isNew }) => !isNew && at.getTime() > now.getTime() - RECENT_MS)

type Deps = {
  db: Db
  sessions: Pick<SessionStore, 'amrOf'>
  credentials: Pick<CredentialStore, 'passkeysOf'>
  now: () => Date
}

/** Decides who may add a way into an account (docs/specification.md#recent-proofs, docs/specification.md#handed-over-sessions). */
export class RecentProofs {
  constructor(private readonly deps: Deps) {}

  /** Whether this person has to sign in again first; never true for people who have nothing to sign in with. */
  async isDue({ user, session }: Live): Promise<boolean> {
    const { db, sessions, credentials, now } = this.deps
    const amr = await sessions.amrOf(db, session.id)
    if (isRecent(amr, now())) return false
    return canSignIn(user) || (await credentials.passkeysOf(db, user.id)).length > 0
  }

  /**
   * An application that holds a session of the pages has to meet the same rule as the pages, because they give such a session to
   * anyone who has the browser.
   */
  async requireOfHandedOver(live: Live): Promise<void> {
    if (live.session.handedOver) await this.require(live)
  }

  async require(live: Live): Promise<void> {
    if (await this.isDue(live))
      throw authError(
        'forbidden',
        'reauthentication_needed',
        'The last sign-in on the sign-in page was more than ten minutes ago. Sign in there again, with prompt=login.',
      )
  }
}

const canSignIn = (user: User): boolean =>
  user.passwordHash !== null ||
  isProven(user) ||
  user.identities.some(({ provider }) => provider !== 'email' && provider !== 'phone')
