import type { Db, Tx } from '@signet/db'
import { withoutInvisible } from '@signet/pages/visible'
import { recordCancelledBy, traitsOf, userNotFound, type AdminActs } from '../administrators/admin-acts.js'
import type { Admin } from '../administrators/admin.js'
import type { AuditLog } from '../audit/audit-log.js'
import { invalid } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { recordCancelled, type Ended, type SessionEnds } from '../sessions/session-ends.js'
import { requireStrong, type SessionGate } from '../sessions/session-gate.js'
import type { Live } from '../sessions/session.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'
import type { Credential } from '../webauthn/credential.js'
import type { CredentialStore } from '../webauthn/credential-store.js'
import { PASSKEY_PROVIDER, passkeyNotFound, passkeyTraits } from './passkey-rules.js'

const MAX_NAME = 120

type Deps = {
  db: Db
  users: UserStore
  gate: SessionGate
  acts: AdminActs
  ends: SessionEnds
  credentials: CredentialStore
  audit: AuditLog
  mailer: Mailer
}

/** The passkeys of an account: for its owner, and for administrators (docs/specification.md#changes-of-passkeys). */
export class PasskeyService {
  constructor(private readonly deps: Deps) {}

  /** Oldest first. */
  list(userId: string): Promise<Credential[]> {
    return this.deps.credentials.passkeysOf(this.deps.db, userId)
  }

  async listOf(userId: string): Promise<Credential[]> {
    const { db, users } = this.deps
    if ((await users.findById(db, userId)) === null) throw userNotFound()
    return this.list(userId)
  }

  /** Owners choose which passkey to remove by its name, so changing the name needs a second factor. */
  async rename({ user, session }: Live, id: string, name: string, meta: RequestMeta): Promise<Credential> {
    const { gate, credentials, audit } = this.deps
    const friendlyName = withoutInvisible(name).trim()
    if (friendlyName === '') throw invalid('friendly_name is required')
    if (friendlyName.length > MAX_NAME)
      throw invalid(`friendly_name must not be longer than ${MAX_NAME} characters`)
    return audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, { userId: user.id, sessionId: session.id })
      requireStrong(held)
      const passkey = await credentials.rename(tx, user.id, id, friendlyName)
      if (passkey === null) throw passkeyNotFound()
      record('passkey_updated', held.user, passkeyTraits(passkey))
      return passkey
    })
  }

  /** Removes a passkey and ends the sessions that it opened in other sign-ins, because it may be in the wrong hands. */
  async remove({ user, session }: Live, id: string, meta: RequestMeta): Promise<Ended> {
    const { gate, audit } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, { userId: user.id, sessionId: session.id })
      requireStrong(held)
      const ended = await this.#remove(tx, held.user, { id, keptSignIn: held.session.signInId }, meta)
      record('passkey_deleted', held.user, passkeyTraits({ id }))
      recordCancelled(record, held.user, ended)
      return ended
    })
  }

  async removeOf(admin: Admin, userId: string, id: string, meta: RequestMeta): Promise<void> {
    await this.deps.acts.onUser(admin, { id: userId }, meta, async ({ tx, record, user }) => {
      const ended = await this.#remove(tx, user, { id, keptSignIn: null }, meta)
      record('passkey_deleted', { ...traitsOf(user), ...passkeyTraits({ id }) })
      recordCancelledBy({ record, user }, ended)
    })
  }

  async #remove(
    tx: Tx,
    user: User,
    { id, keptSignIn }: { id: string; keptSignIn: string | null },
    meta: RequestMeta,
  ): Promise<Ended> {
    const { credentials, ends, mailer } = this.deps
    if (!(await credentials.remove(tx, user.id, id))) throw passkeyNotFound()
    const ended = await ends.byPasskey(tx, user.id, id, keptSignIn)
    const email = user.email ?? ''
    const variables = { email, provider: PASSKEY_PROVIDER, data: user.userMetadata }
    await mailer.notify(tx, { kind: 'identity_unlinked_notification', to: email, variables }, meta)
    return ended
  }
}
