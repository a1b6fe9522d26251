import { createHash } from 'node:crypto'
import type { Tx } from '@signet/db'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionBoundsStore } from '../sessions/session-bounds-store.js'
import type { SessionEnds } from '../sessions/session-ends.js'
import type { PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { IdentityStore } from '../users/identity-store.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'
import { traitsOf, type AdminActs } from '../administrators/admin-acts.js'
import type { Admin } from '../administrators/admin.js'

type Deps = {
  acts: AdminActs
  users: UserStore
  identities: IdentityStore
  ends: SessionEnds
  bounds: SessionBoundsStore
  tokens: OneTimeTokenStore
  signUps: PendingSignUpStore
  now: () => Date
}

/** Deletes accounts (docs/specification.md#users-made-by-administrators, DELETE). */
export class UserRemovalService {
  constructor(private readonly deps: Deps) {}

  async remove(
    admin: Admin,
    { id, softly }: { id: string; softly: boolean },
    meta: RequestMeta,
  ): Promise<void> {
    const { acts, users, bounds } = this.deps
    // Not in one transaction: the rows of ended sessions may be too many for one statement.
    const removeSome = () => acts.transaction(admin, {}, meta, ({ tx }) => bounds.removeEnded(tx, id))
    if (!softly) while (!meta.signal?.aborted && (await removeSome()));
    await acts.onUser(admin, { id, evenDeleted: true }, meta, async ({ tx, record, user }) => {
      record('user_deleted', traitsOf(user))
      if (!softly) await users.remove(tx, id)
      else if (user.deletedAt === null) await this.#forget(tx, user)
    })
  }

  /** The row stays because others reference it; nothing in it identifies the person anymore. */
  async #forget(tx: Tx, user: User): Promise<void> {
    const { users, identities, ends, tokens, signUps, now } = this.deps
    const forgotten = (value: string | null) => (value === null ? null : hashOf(user.id, value))
    await users.updateAddresses(
      tx,
      user.id,
      {
        email: forgotten(user.email),
        phone: forgotten(user.phone),
        newEmail: null,
        newPhone: null,
        passwordHash: null,
        metadata: StorableMetadata.none,
        deletedAt: now(),
        deletionDueAt: null,
      },
      now(),
    )
    for (const identity of user.identities)
      await identities.anonymize(tx, identity.id, hashOf(user.id, identity.providerId), now())
    await tokens.removeAll(tx, user.id)
    await signUps.removeAll(tx, user.id)
    await users.removeAuthenticators(tx, user.id)
    await ends.all(tx, user.id, 'deletion')
  }
}

// One-way, and different for each user, so that nobody can tell that two users had the same address.
const hashOf = (userId: string, value: string): string =>
  createHash('sha256').update(`${userId}:${value}`).digest('hex')
