import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { normalizeEmail } from '../addresses/email.js'
import { normalizePhone } from '../addresses/phone.js'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { challengeOf, type Challenge } from '../flows/pkce.js'
import { notifyPhoneChanged } from '../mail/address-notices.js'
import type { Mailer } from '../mail/mailer.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { recordCancelled, type SessionEnds } from '../sessions/session-ends.js'
import { requireStrong, type SessionGate } from '../sessions/session-gate.js'
import type { SessionStore } from '../sessions/session-store.js'
import type { Held, Live } from '../sessions/session.js'
import { smsChannelOf } from '../sign-up/sms-channel.js'
import type { SmsChannel } from '../sms/sms-sender.js'
import { withoutClaims } from '../users/identity-claims.js'
import type { PendingChangeStore } from '../users/pending-change-store.js'
import type { UserStore } from '../users/user-store.js'
import type { JsonObject, User } from '../users/user.js'
import { StorableMetadata } from '../users/storable-metadata.js'
import type { RecentProofs } from './recent-proofs.js'
import type { AddressChanges } from './address-changes.js'
import {
  badNonce,
  refusePasswordAlone,
  refusePasswordOfUnproven,
  type PasswordChange,
  type PasswordProof,
  type PasswordChanges,
} from './password-change.js'

export type UserUpdateRequest = {
  email?: string
  phone?: string
  password?: string
  data?: JsonObject
  app_metadata?: JsonObject
  nonce?: string
  channel?: string
  current_password?: string
  code_challenge?: string
  code_challenge_method?: string
}

type Caller = Live & {
  aud: string
  redirectTo: string
  /** A new password needs a recent proof, regardless of the settings. */
  recentProof?: boolean
}

/** What changes. Members are null if the request leaves them out or repeats the current value. */
type Change = {
  email: string | null
  phone: string | null
  password: PasswordChange | null
  data: JsonObject | null
  appMetadata: JsonObject | null
  challenge: Challenge | null
  channel: SmsChannel
}

type Deps = {
  users: UserStore
  changes: PendingChangeStore
  sessions: SessionStore
  gate: SessionGate
  ends: SessionEnds
  tokens: OneTimeTokenStore
  passwords: PasswordChanges
  recentProofs: Pick<RecentProofs, 'require' | 'requireOfHandedOver'>
  addresses: AddressChanges
  audit: AuditLog
  mailer: Mailer
  rules: { smsProvider: string | undefined; phoneEnabled: boolean; adminRoles: readonly string[] }
  now: () => Date
}

/** PUT /user (docs/specification.md#the-signed-in-user). */
export class UserUpdateService {
  constructor(private readonly deps: Deps) {}

  /** What a page asks for before it sets a password. */
  passwordProof(caller: Live): Promise<PasswordProof> {
    return this.deps.passwords.proofOf(caller)
  }

  async update(caller: Caller, request: UserUpdateRequest, meta: RequestMeta): Promise<User> {
    const { audit, addresses } = this.deps
    const change = await this.#check(caller, request, meta)
    return addresses.counted(change, caller.user, meta, async () => {
      const outcome = await audit.transaction(meta, (tx, record) =>
        this.#apply(tx, record, caller, change, meta),
      )
      // A wrong nonce is counted, so its transaction commits first. Throwing here tells the quotas that nothing was sent.
      if (outcome === 'bad_nonce') throw badNonce()
      await change.password?.guess?.takeBack()
      return outcome
    })
  }

  /** Cancels a change of address: links and codes for the new address stop working. */
  async cancelChange({ user, session }: Live, kind: Address['kind'], meta: RequestMeta): Promise<void> {
    const { audit, gate, changes, now } = this.deps
    await audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, { userId: user.id, sessionId: session.id })
      requireStrong(held)
      const pending = kind === 'email' ? 'newEmail' : 'newPhone'
      if (await changes.drop(tx, user.id, pending, now()))
        record('user_modified', held.user, { cancelled: kind })
    })
  }

  /** Sends notices about changes already made. The notice about a pending address is sent once the address is confirmed. */
  async #tell(tx: Tx, before: User, user: User, change: Change, meta: RequestMeta): Promise<void> {
    const { mailer } = this.deps
    const to = user.email ?? ''
    const variables = { email: to, data: user.userMetadata }
    if (change.password !== null)
      await mailer.notify(tx, { kind: 'password_changed_notification', to, variables }, meta)
    await notifyPhoneChanged(tx, mailer, before, user, meta)
  }

  /** Refuses the requests that docs/specification.md#the-signed-in-user lists, in the same order. */
  async #check(caller: Caller, request: UserUpdateRequest, meta: RequestMeta): Promise<Change> {
    const { user } = caller
    const given = (text: string | undefined) => (text === undefined || text === '' ? null : text)
    const email = changed(given(request.email), normalizeEmail, user.email)
    const phone = changed(given(request.phone), normalizePhone, user.phone)
    const password = request.password ?? null
    const channel = smsChannelOf(request.channel, this.deps.rules.smsProvider)
    const challenge = challengeOf(request)
    this.#refuseWithoutAuthority(caller, {
      email,
      phone,
      password,
      appMetadata: request.app_metadata ?? null,
    })
    const touchesCredentials = email !== null || phone !== null || password !== null
    refusePasswordAlone(user, { email, phone, password })
    if (password !== null) refusePasswordOfUnproven(user)
    if (touchesCredentials && user.isSsoUser)
      throw authError(
        'unprocessable',
        'user_sso_managed',
        'The email, phone number and password of an SSO account can only be changed through SSO',
      )
    if (phone !== null && !this.deps.rules.phoneEnabled)
      throw authError('invalid', 'phone_provider_disabled', 'Phone numbers are disabled')
    if (email !== null || phone !== null) await this.deps.recentProofs.requireOfHandedOver(caller)
    const data = request.data === undefined ? null : withoutClaims(request.data)
    const appMetadata = request.app_metadata ?? null
    StorableMetadata.changed(user, { userMetadata: data ?? {}, appMetadata: appMetadata ?? {} })
    const proof = password === null ? null : await this.#proofOf(caller)
    return {
      email,
      phone,
      password:
        password === null
          ? null
          : await this.deps.passwords.prepare(
              caller,
              {
                password,
                nonce: request.nonce ?? '',
                currentPassword: request.current_password ?? '',
              },
              proof,
              meta,
            ),
      data,
      appMetadata,
      challenge,
      channel,
    }
  }

  /** Checked before the slow part, and again once the user and the session are locked. */
  #refuseWithoutAuthority(
    live: Live,
    { email, phone, password, appMetadata }: Record<'email' | 'phone' | 'password' | 'appMetadata', unknown>,
  ): void {
    if (appMetadata !== null && !this.deps.rules.adminRoles.includes(live.user.role))
      throw authError('forbidden', 'not_admin', 'Updating app_metadata requires admin privileges')
    if (Object.values({ email, phone, password, appMetadata }).some((value) => value !== null))
      requireStrong(live)
  }

  /**
   * The proof that a new password needs beyond what the settings ask for. An account without a password and a proven address can only prove
   * itself by a recent sign-in.
   */
  async #proofOf(caller: Caller): Promise<PasswordProof> {
    if (caller.recentProof !== true && !caller.session.handedOver) return null
    const proof = await this.deps.passwords.proofOf(caller)
    if (proof === null) await this.deps.recentProofs.require(caller)
    return proof
  }

  async #apply(
    tx: Tx,
    audit: Audit,
    caller: Caller,
    change: Change,
    meta: RequestMeta,
  ): Promise<User | 'bad_nonce'> {
    const { gate, users, passwords, addresses, now } = this.deps
    const held = await gate.hold(tx, { userId: caller.user.id, sessionId: caller.session.id })
    this.#refuseWithoutAuthority(held, change)
    const { user } = held
    const { password } = change
    if (password?.nonce != null && !(await passwords.isRightNonce(tx, audit, user, password.nonce)))
      return 'bad_nonce'
    if (password !== null) await this.#storePassword(tx, audit, held, password)
    if (change.data !== null || change.appMetadata !== null) {
      const { data, appMetadata } = change
      const metadata = StorableMetadata.changed(user, {
        userMetadata: data ?? {},
        appMetadata: appMetadata ?? {},
      })
      await users.update(tx, user.id, { metadata }, now())
    }
    const pending = await addresses.begin(tx, user.id, { ...change, from: meta.client })
    audit('user_modified', user, { changes: changesOf(change) })
    const updated = (await users.findById(tx, user.id)) ?? user
    const how = { redirectTo: caller.redirectTo, channel: change.channel }
    await addresses.send(tx, updated, pending, how, meta)
    await this.#tell(tx, user, updated, change, meta)
    return updated
  }

  /**
   * Ends access for anyone who knew the old password, or who holds a link sent to a mailbox the user has since lost.
   */
  async #storePassword(
    tx: Tx,
    audit: Audit,
    { user, session }: Held,
    { hash }: PasswordChange,
  ): Promise<void> {
    const { users, tokens, sessions, ends, now } = this.deps
    await users.update(tx, user.id, { passwordHash: hash }, now())
    await tokens.removeAll(tx, user.id)
    const amr = await sessions.amrOf(tx, session.id)
    const recovered = amr.some(({ method }) => method === 'recovery')
    const reason = recovered ? 'password_recovered' : 'password_changed'
    const ended = await ends.others(tx, user.id, session.id, reason)
    audit('user_updated_password', user)
    recordCancelled(audit, user, ended)
  }
}

/** For the audit log: which members, never their values. */
const changesOf = (change: Change): string[] =>
  (['email', 'phone', 'password', 'data', 'appMetadata'] as const).filter((member) => change[member] !== null)

/** The new value in normal form, or null when there is none or it is the current one. */
function changed(
  raw: string | null,
  normalize: (raw: string) => string,
  current: string | null,
): string | null {
  const value = raw === null ? null : normalize(raw)
  return value === current ? null : value
}
