import { randomUUID } from 'node:crypto'
import type { Db } from '@signet/db'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { requireStrong, type SessionGate } from '../sessions/session-gate.js'
import type { Live } from '../sessions/session.js'
import type { User } from '../users/user.js'
import type { Challenges } from '../webauthn/challenges.js'
import type { Credential } from '../webauthn/credential.js'
import type { CredentialStore } from '../webauthn/credential-store.js'
import type { RelyingParty } from '../webauthn/relying-party.js'
import { PASSKEY_PROVIDER, passkeyTraits, verificationFailed } from './passkey-rules.js'

export type PasskeyAnswer = { challenge_id?: string; credential?: Record<string, unknown> }

type Deps = {
  db: Db
  gate: SessionGate
  credentials: CredentialStore
  challenges: Challenges
  relyingParty: RelyingParty
  audit: AuditLog
  mailer: Mailer
  rules: { maxPerUser: number }
  now: () => Date
}

/** Adds passkeys to an account (docs/specification.md#changes-of-passkeys). The caller has passed the gate for sign-in methods. */
export class PasskeyRegistration {
  constructor(private readonly deps: Deps) {}

  async options(caller: Live) {
    const { user, session } = caller
    const { db, credentials, challenges, relyingParty } = this.deps
    refuseSso(user)
    requireStrong(caller)
    const known = await credentials.passkeysOf(db, user.id)
    this.#requireRoom(known)
    const challenge = challenges.issue({ kind: 'registration', userId: user.id, sessionId: session.id })
    const options = await relyingParty.creationOptions({
      user,
      challenge: challenge.bytes,
      residentKey: 'required',
      exclude: known,
    })
    return { challenge, options }
  }

  async register({ user, session }: Live, answer: PasskeyAnswer, meta: RequestMeta): Promise<Credential> {
    const { gate, credentials, challenges, relyingParty, audit, mailer, now } = this.deps
    refuseSso(user)
    const { challengeId, credential } = complete(answer)
    const holder = { userId: user.id, sessionId: session.id }
    const challenge = challenges.expected(challengeId, { kind: 'registration', ...holder })
    const made = await relyingParty.verifyCreation(credential, challenge)
    if (made === null) throw verificationFailed()
    await challenges.spend(challengeId)
    return audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, holder)
      requireStrong(held)
      const known = await credentials.passkeysOf(tx, user.id)
      this.#requireRoom(known)
      const id = randomUUID()
      const at = now()
      const owner = { id, userId: user.id, factorId: null, friendlyName: newNameAmong(known) }
      if (!(await credentials.insert(tx, owner, made, at)))
        throw authError('unprocessable', 'webauthn_credential_exists', 'This passkey is already registered')
      record('passkey_created', held.user, passkeyTraits(owner))
      const email = held.user.email ?? ''
      const variables = { email, provider: PASSKEY_PROVIDER, data: held.user.userMetadata }
      await mailer.notify(tx, { kind: 'identity_linked_notification', to: email, variables }, meta)
      return { ...owner, ...made, createdAt: at, lastUsedAt: null }
    })
  }

  #requireRoom(known: readonly Credential[]): void {
    if (known.length >= this.deps.rules.maxPerUser)
      throw authError(
        'unprocessable',
        'too_many_passkeys',
        'Maximum number of passkeys reached, delete one to continue',
      )
  }
}

/** Both members of an answer; no ceremony works without them. */
export function complete({ challenge_id: challengeId = '', credential }: PasskeyAnswer) {
  if (challengeId === '') throw invalid('challenge_id is required')
  if (credential === undefined) throw invalid('credential is required')
  return { challengeId, credential }
}

function refuseSso({ isSsoUser }: User): void {
  if (isSsoUser) throw authError('unprocessable', 'user_sso_managed', 'SSO users cannot register passkeys')
}

/** "Passkey", "Passkey 2", … until the owner gives it a better name. */
function newNameAmong(known: readonly Credential[]): string {
  const taken = new Set(known.map(({ friendlyName }) => friendlyName))
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? 'Passkey' : `Passkey ${number}`
    if (!taken.has(name)) return name
  }
}
