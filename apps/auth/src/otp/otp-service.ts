import { type Db } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { normaliseEmail } from '../addresses/email.js'
import { normalisePhone } from '../addresses/phone.js'
import { type AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { challengeOf, type Challenge } from '../flows/pkce.js'
import { type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type UnsentMessages } from '../one-time-tokens/unsent-messages.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type PasswordHasher } from '../passwords/password-hasher.js'
import { randomPassword } from '../passwords/password-rules.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type RegistrationService } from '../sign-up/registration.js'
import { signUpDisabled, type SignUpRules } from '../sign-up/sign-up-service.js'
import { smsChannelOf } from '../sign-up/sms-channel.js'
import { type SmsChannel } from '../sms/sms-sender.js'
import { type UserStore } from '../users/user-store.js'
import { type JsonObject, type User } from '../users/user.js'
import { refuseLargeMetadata } from '../users/metadata-limit.js'

export type OtpRequest = {
  email?: string
  phone?: string
  create_user?: boolean
  data?: JsonObject
  channel?: string
  code_challenge?: string
  code_challenge_method?: string
}

export type OtpRules = SignUpRules & {
  magicLinkEnabled: boolean
  /** Shortest time between two magic links, or two codes by SMS, to one user. */
  magicLinkIntervalMs: number
  smsIntervalMs: number
}

/** What to do with an address nobody has: sign it up, do nothing, or refuse (contract 0.2, `create_user`). */
export type Unknown = 'sign_up' | 'ignore' | 'refuse'

type Where = { aud: string; redirectTo: string; unknown: Unknown }

type Deps = {
  db: Db
  users: UserStore
  registration: RegistrationService
  issuer: TokenIssuer
  messages: SecretMessages
  unsent: UnsentMessages
  audit: AuditLog
  hasher: PasswordHasher
  rules: OtpRules
}

/** Passwordless sign-in: POST /otp and POST /magiclink (contract 1.9 and 1.10). */
export class OtpService {
  constructor(private readonly deps: Deps) {}

  /** Returns the gateway's message id when an SMS was sent. */
  async send(request: OtpRequest, where: Where, meta: RequestMeta): Promise<string | null> {
    const { email = '', phone = '' } = request
    if ((email === '') === (phone === ''))
      throw invalid('Only an email address or phone number should be provided')
    if (email === '') return this.#sendSms(request, where, meta)
    if ((request.channel ?? '') !== '') throw invalid('Channel should only be specified with a phone number')
    await this.sendMagicLink(request, where, meta)
    return null
  }

  async sendMagicLink(request: OtpRequest, where: Where, meta: RequestMeta): Promise<void> {
    const { rules } = this.deps
    const address = { kind: 'email', value: normaliseEmail(request.email ?? '') } as const
    const challenge = challengeOf(request)
    if (!rules.emailEnabled || !rules.magicLinkEnabled)
      throw authError('unprocessable', 'email_provider_disabled', 'Email logins are disabled')
    const user = await this.#knownOrRegistered(
      address,
      request,
      { ...where, challenge, channel: 'sms' },
      meta,
    )
    if (user.kind === 'known') await this.#mailMagicLink(user.user, challenge, where.redirectTo, meta)
  }

  async #mailMagicLink(user: User, challenge: Challenge | null, redirectTo: string, meta: RequestMeta) {
    const { users, issuer, messages, audit, rules } = this.deps
    const { fresh, issued } = await audit.transaction(meta, async (tx, record) => {
      const locked = (await users.lockById(tx, user.id)) ?? user
      record('user_recovery_requested', locked, { provider: 'email' })
      const token = await issuer.issue(tx, locked, {
        slot: 'recovery',
        address: { kind: 'email', value: locked.email ?? '' },
        intervalMs: rules.magicLinkIntervalMs,
        challenge,
        method: 'magiclink',
      })
      return { fresh: locked, issued: token }
    })
    await messages.mailLink('magic_link', fresh, issued, redirectTo, meta)
  }

  async #sendSms(request: OtpRequest, where: Where, meta: RequestMeta): Promise<string | null> {
    const { rules, users, issuer, messages, audit } = this.deps
    const channel = smsChannelOf(request.channel, rules.smsProvider)
    // A code by SMS ends no flow; what makes no sense is refused all the same (contract 1.0).
    challengeOf(request)
    if (!rules.phoneEnabled)
      throw authError('invalid', 'phone_provider_disabled', 'Unsupported phone provider')
    const address = { kind: 'phone', value: normalisePhone(request.phone ?? '') } as const
    const found = await this.#knownOrRegistered(
      address,
      request,
      { ...where, challenge: null, channel },
      meta,
    )
    if (found.kind !== 'known') return found.messageId
    const issued = await audit.transaction(meta, async (tx, record) => {
      const locked = (await users.lockById(tx, found.user.id)) ?? found.user
      record('user_recovery_requested', locked, { provider: 'phone', channel })
      return issuer.issue(tx, locked, { slot: 'confirmation', address, intervalMs: rules.smsIntervalMs })
    })
    return messages.sms(issued, channel, meta)
  }

  /** A confirmed user who gets a secret to sign in with; or nobody, because a confirmation was sent instead, or nothing. */
  async #knownOrRegistered(
    address: Address,
    request: OtpRequest,
    where: Where & { challenge: Challenge | null; channel: SmsChannel },
    meta: RequestMeta,
  ): Promise<{ kind: 'known'; user: User } | { kind: 'done'; messageId: string | null }> {
    const { registration, unsent, hasher, rules } = this.deps
    refuseLargeMetadata({ userMetadata: request.data ?? {} })
    const known = await this.#find(address, where.aud)
    if (known !== null && isConfirmed(known, address)) return { kind: 'known', user: known }
    if (known === null) {
      if (where.unknown === 'refuse')
        throw authError('unprocessable', 'otp_disabled', 'Signups not allowed for otp')
      if (where.unknown === 'ignore') {
        const { kind } = address
        const intervalMs = kind === 'email' ? rules.magicLinkIntervalMs : rules.smsIntervalMs
        const slot = kind === 'email' ? 'recovery' : 'confirmation'
        await unsent.ask({ slot, address, aud: where.aud, via: kind, intervalMs }, meta)
        return { kind: 'done', messageId: null }
      }
      if (rules.disabled) throw signUpDisabled()
    }
    const registered = await registration.register(
      {
        address,
        aud: where.aud,
        passwordHash: await hasher.hash(randomPassword(rules.passwords)),
        data: request.data ?? {},
        challenge: where.challenge,
        channel: where.channel,
        redirectTo: where.redirectTo,
      },
      meta,
      () => Promise.resolve(),
    )
    if (registered.kind === 'pending') return { kind: 'done', messageId: registered.messageId }
    return { kind: 'known', user: registered.user }
  }

  #find({ kind, value }: Address, aud: string): Promise<User | null> {
    const { db, users } = this.deps
    return kind === 'email' ? users.findByEmail(db, value, aud) : users.findByPhone(db, value, aud)
  }
}

const isConfirmed = (user: User, { kind }: Address): boolean =>
  (kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) !== null
