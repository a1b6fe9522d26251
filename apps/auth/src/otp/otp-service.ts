import type { Db } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { normalizeEmail } from '../addresses/email.js'
import { normalizePhone } from '../addresses/phone.js'
import type { AccountRequests } from '../account-requests/account-requests.js'
import type { CodeRequest } from '../account-requests/account-work.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { challengeOf } from '../flows/pkce.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { MessageRequest } from '../messages/message-requests.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { RegistrationService } from '../sign-up/registration.js'
import type { SignUpRules } from '../sign-up/sign-up-service.js'
import { smsChannelOf } from '../sign-up/sms-channel.js'
import { withoutClaims } from '../users/identity-claims.js'
import type { UserStore } from '../users/user-store.js'
import type { JsonObject, User } from '../users/user.js'
import type { Observer } from '../observers/observer.js'
import { StorableMetadata } from '../users/storable-metadata.js'

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
  /** Shortest time between two magic links, or two codes by SMS, that one client requests for one address. */
  magicLinkIntervalMs: number
  smsIntervalMs: number
}

/**
 * What to do with an unknown address: sign it up, do nothing, or refuse (docs/specification.md#versions,
 * `create_user`).
 */
export type Unknown = 'sign_up' | 'ignore' | 'refuse'

type Where = { aud: string; redirectTo: string; unknown: Unknown }

type Deps = {
  db: Db
  users: UserStore
  registration: RegistrationService
  issuer: TokenIssuer
  messages: SecretMessages
  accountRequests: AccountRequests
  audit: AuditLog
  observer: Observer
  rules: OtpRules
}

/** Passwordless sign-in: POST /otp and POST /magiclink. */
export class OtpService {
  constructor(private readonly deps: Deps) {}

  async send(request: OtpRequest, where: Where, meta: RequestMeta): Promise<void> {
    const { email = '', phone = '' } = request
    if ((email === '') === (phone === ''))
      throw invalid('Only an email address or phone number should be provided')
    if (email === '') return this.#sendSms(request, where, meta)
    if ((request.channel ?? '') !== '') throw invalid('Channel should only be specified with a phone number')
    await this.sendMagicLink(request, where, meta)
  }

  async sendMagicLink(request: OtpRequest, where: Where, meta: RequestMeta): Promise<void> {
    const { rules } = this.deps
    const address = { kind: 'email', value: normalizeEmail(request.email ?? '') } as const
    const challenge = challengeOf(request)
    if (!rules.emailEnabled || !rules.magicLinkEnabled)
      throw authError('unprocessable', 'email_provider_disabled', 'Email logins are disabled')
    const intervalMs = rules.magicLinkIntervalMs
    const input = { address, challenge, channel: 'sms' } as const
    await this.#accept(request, where, input, { clock: 'magic_link', intervalMs }, meta)
  }

  async #sendSms(request: OtpRequest, where: Where, meta: RequestMeta): Promise<void> {
    const { rules } = this.deps
    const channel = smsChannelOf(request.channel, rules.smsProvider)
    // A code by SMS ends no flow, but malformed parameters are still refused.
    challengeOf(request)
    if (!rules.phoneEnabled)
      throw authError('invalid', 'phone_provider_disabled', 'Unsupported phone provider')
    const address = { kind: 'phone', value: normalizePhone(request.phone ?? '') } as const
    const intervalMs = rules.smsIntervalMs
    const input = { address, challenge: null, channel }
    await this.#accept(request, where, input, { clock: 'confirmation', intervalMs }, meta)
  }

  async #accept(
    request: OtpRequest,
    { aud, redirectTo, unknown }: Where,
    how: Pick<CodeRequest, 'address' | 'challenge' | 'channel'>,
    interval: Pick<MessageRequest, 'clock' | 'intervalMs'>,
    meta: RequestMeta,
  ): Promise<void> {
    const data = withoutClaims(request.data ?? {})
    const { address } = how
    StorableMetadata.ofNew(address.kind, data)
    const input = { ...how, aud, redirectTo, data, signsUp: unknown === 'sign_up' }
    // This answer reveals whether there is an account, because the client asks for that (docs/specification.md#one-time-passwords). So it
    // counts against the quotas and the interval as if something were sent.
    const isRefused = unknown === 'refuse' && (await this.#find(address)) === null
    await this.deps.accountRequests.accept(
      isRefused ? null : { what: 'code', input },
      { ...interval, address, via: address.kind, purpose: 'sign_in' },
      meta,
    )
    if (isRefused) throw authError('unprocessable', 'otp_disabled', 'Signups not allowed for otp')
  }

  /** Sends a sign-in secret, a confirmation, or nothing. */
  async fulfill(input: CodeRequest, meta: MessageOrigin): Promise<void> {
    const { registration, rules } = this.deps
    const { address } = input
    const known = await this.#find(address)
    if (known !== null && isConfirmed(known, address)) return this.#sendSecret(known, input, meta)
    // Returns without an error, which would reveal who has an account.
    if (known === null && !input.signsUp) return this.deps.observer.accountExpected(meta)
    if (known === null && rules.disabled) return
    const registered = await registration.registerByCode({ ...input, passwordHash: null }, meta)
    if (registered.kind !== 'pending') await this.#sendSecret(registered.user, input, meta)
  }

  async #sendSecret(
    known: User,
    { address, challenge, redirectTo, channel }: CodeRequest,
    meta: MessageOrigin,
  ): Promise<void> {
    const { users, issuer, messages, audit } = this.deps
    await audit.transaction(meta, async (tx, record) => {
      const user = (await users.lockById(tx, known.id)) ?? known
      if (address.kind === 'email') {
        record('user_recovery_requested', user, { provider: 'email' })
        const issued = await issuer.issue(tx, user, {
          slot: 'recovery',
          address,
          intervalMs: 0,
          challenge,
          from: meta.client,
          byAnyone: true,
        })
        return messages.mailLink(tx, { kind: 'magic_link', user, issued, redirectTo }, meta)
      }
      record('user_recovery_requested', user, { provider: 'phone', channel })
      const issued = await issuer.issue(tx, user, {
        slot: 'sms_sign_in',
        address,
        intervalMs: 0,
        from: meta.client,
        byAnyone: true,
      })
      return messages.sms(tx, issued, channel, meta)
    })
  }

  #find({ kind, value }: Address): Promise<User | null> {
    const { db, users } = this.deps
    return kind === 'email' ? users.findByEmail(db, value) : users.findByPhone(db, value)
  }
}

const isConfirmed = (user: User, { kind }: Address): boolean =>
  (kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt) !== null
