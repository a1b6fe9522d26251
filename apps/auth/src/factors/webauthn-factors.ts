import { randomUUID, type KeyObject } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import { authError, invalid } from '../errors/auth-error.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { Held } from '../sessions/session.js'
import type { User } from '../users/user.js'
import type { CredentialStore } from '../webauthn/credential-store.js'
import type { RelyingParty } from '../webauthn/relying-party.js'
import type { StoredFactor } from './factor-store.js'

/** The member `webauthn` of a verification. */
export type WebauthnAnswer = { type?: unknown; credential_response?: unknown }

/** What the page asks the browser for: a new key while the factor is being enrolled, later a signature. */
export type WebauthnRequest = {
  type: 'create' | 'request'
  credential_options: { publicKey: object }
}

type Deps = {
  db: Db
  credentials: CredentialStore
  relyingParty: RelyingParty
  key: KeyObject
  now: () => Date
}

type Step = { held: Held; factor: StoredFactor; challengeId: string }

/** Security keys as second factors (docs/specification.md#webauthn). */
export class WebauthnFactors {
  constructor(private readonly deps: Deps) {}

  async requestFor(user: User, factor: StoredFactor, challengeId: string): Promise<WebauthnRequest> {
    const { db, credentials, relyingParty } = this.deps
    const challenge = this.#bytesOf(challengeId)
    if (factor.status === 'unverified') {
      const exclude = await credentials.ofFactors(db, user.id)
      const publicKey = await relyingParty.creationOptions({
        user,
        challenge,
        residentKey: 'discouraged',
        exclude,
      })
      return { type: 'create', credential_options: { publicKey } }
    }
    const known = await credentials.findOfFactor(db, factor.id)
    const publicKey = await relyingParty.requestOptions(challenge, known === null ? [] : [known])
    return { type: 'request', credential_options: { publicKey } }
  }

  /**
   * Whether the answer is valid. The state of the factor decides which kind is expected: once a factor has a key, a new key proves nothing.
   */
  accept(tx: Tx, step: Step, { type, credential_response: response }: WebauthnAnswer): Promise<boolean> {
    const due = step.factor.status === 'unverified' ? 'create' : 'request'
    if (type !== due) throw invalid(`webauthn.type must be ${due}`)
    if (typeof response !== 'object' || response === null)
      throw invalid('webauthn.credential_response is required')
    return due === 'create' ? this.#enroll(tx, step, response) : this.#check(tx, step, response)
  }

  async #enroll(tx: Tx, { held: { user }, factor, challengeId }: Step, response: object): Promise<boolean> {
    const { credentials, relyingParty, now } = this.deps
    const made = await relyingParty.verifyCreation(response, this.#bytesOf(challengeId))
    if (made === null) return false
    const owner = { id: randomUUID(), userId: user.id, factorId: factor.id, friendlyName: '' }
    if (await credentials.insert(tx, owner, made, now())) return true
    throw authError('unprocessable', 'webauthn_credential_exists', 'This security key is already registered')
  }

  async #check(tx: Tx, { held: { session }, factor, challengeId }: Step, response: object): Promise<boolean> {
    const { credentials, relyingParty, now } = this.deps
    const known = await credentials.findOfFactor(tx, factor.id)
    const assertion = known && (await relyingParty.verifyRequest(response, this.#bytesOf(challengeId), known))
    if (known === null || assertion === null) return false
    // A security key that someone found must not stand for both factors. If it signed in as a passkey that did not verify the user, it has
    // to verify the user here.
    if (session.passkeyId !== null && !assertion.userVerified) return false
    return credentials.use(tx, known.id, assertion.signCount, now())
  }

  #bytesOf(challengeId: string): Buffer {
    return keyedHash(this.deps.key, 'factor', challengeId)
  }
}
