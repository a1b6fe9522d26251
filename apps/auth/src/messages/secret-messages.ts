import type { Db, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { confirmationUrl, type LinkConfig, type LinkType } from '../mail/confirmation-url.js'
import type { MailKind } from '../mail/kinds.js'
import type { Mailer } from '../mail/mailer.js'
import type { CodeAttempts } from '../one-time-tokens/code-attempts.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { MessageQuotaRequest, SendQuotas } from '../quotas/send-quotas.js'
import type { SmsMessages } from '../sms/sms-messages.js'
import type { SmsChannel } from '../sms/sms-sender.js'
import type { User } from '../users/user.js'
import { withdrawable, type Issued, type OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'

export type LinkKind = Exclude<MailKind, 'reauthentication'>

const LINK_TYPES: Readonly<Record<LinkKind, LinkType>> = {
  invite: 'invite',
  confirmation: 'signup',
  recovery: 'recovery',
  magic_link: 'magiclink',
  email_change: 'email_change',
}

type LinkMail = {
  kind: LinkKind
  user: User
  issued: Issued
  redirectTo: string
  /** The name of the inviter, if it is a person. */
  inviter?: string | undefined
}

/** The recipient of a message, and the reason for it. */
export type CountedMessage = { address: Address } & Omit<MessageQuotaRequest, 'to'>

type Deps = {
  mailer: Mailer
  sms: SmsMessages
  tokens: OneTimeTokens
  quotas: SendQuotas
  attempts: CodeAttempts
  db: Db
  links: LinkConfig
}

/** Puts messages with one-time tokens into the outbox, in the transaction that creates the tokens. */
export class SecretMessages {
  constructor(private readonly deps: Deps) {}

  /** Throws for an address that cannot receive messages. Call it before anything looks for an account. */
  refuseAddress(address: Address): void {
    if (address.kind === 'email') this.deps.mailer.refuse(address.value)
    else if (!this.#isTestNumber(address)) this.deps.sms.refuse()
  }

  /**
   * Runs `work`, which requests these messages, within the message quotas. Afterwards this client may try the codes, no matter how often
   * strangers have guessed.
   */
  async counted<T>(
    messages: readonly CountedMessage[],
    meta: MessageOrigin,
    work: () => Promise<T>,
  ): Promise<T> {
    const { attempts, db } = this.deps
    const result = await this.#withinQuotas(messages, meta, work)
    const { client } = meta
    if (client !== undefined)
      for (const { address } of messages) await attempts.asked(db, address, client.key)
    return result
  }

  #withinQuotas<T>(
    messages: readonly CountedMessage[],
    meta: MessageOrigin,
    work: () => Promise<T>,
  ): Promise<T> {
    const [message, ...others] = messages
    if (message === undefined) return work()
    const { address, ...why } = message
    const rest = () => this.#withinQuotas(others, meta, work)
    const request = { ...why, to: address.value }
    if (address.kind === 'email') return this.deps.quotas.mail(request, meta, rest)
    return this.#isTestNumber(address) ? rest() : this.deps.quotas.sms(request, meta, rest)
  }

  async mailLink(tx: Tx, mail: LinkMail, meta: MessageOrigin): Promise<void> {
    await this.#addLink(tx, mail, [mail.issued], meta)
  }

  /** Sends both halves of an email change. If one is never delivered, the other is useless, so they are withdrawn together. */
  async mailChange(
    tx: Tx,
    { user, halves, redirectTo }: { user: User; halves: readonly Issued[]; redirectTo: string },
    meta: MessageOrigin,
  ): Promise<void> {
    for (const issued of halves)
      await this.#addLink(tx, { kind: 'email_change', user, issued, redirectTo }, halves, meta)
  }

  async mailNonce(tx: Tx, user: User, issued: Issued, meta: MessageOrigin): Promise<void> {
    const { value: to } = issued.address
    const variables = { email: to, token: issued.secrets.otp, data: user.userMetadata }
    const secrets = [withdrawable(issued)]
    await this.deps.mailer.add(tx, { kind: 'reauthentication', to, variables, secrets }, meta)
  }

  /** Sends the code, except to a test number. */
  async sms(tx: Tx, issued: Issued, channel: SmsChannel, meta: MessageOrigin): Promise<void> {
    const { address, secrets } = issued
    if (this.#isTestNumber(address)) return
    const undo = { secret: withdrawable(issued) }
    await this.deps.sms.add(tx, { phone: address.value, code: secrets.otp, channel }, undo, meta)
  }

  /** The link that the email of this kind carries. */
  linkOf(kind: LinkKind, issued: Issued, redirectTo: string): string {
    return confirmationUrl(this.deps.links, kind, {
      token: issued.secrets.linkToken,
      type: LINK_TYPES[kind],
      redirectTo,
    })
  }

  async #addLink(
    tx: Tx,
    { kind, user, issued, redirectTo, inviter }: LinkMail,
    together: readonly Issued[],
    meta: MessageOrigin,
  ): Promise<void> {
    const { value: to } = issued.address
    const variables = {
      email: user.email ?? to,
      newEmail: user.newEmail ?? undefined,
      sendingTo: to,
      confirmationUrl: this.linkOf(kind, issued, redirectTo),
      token: issued.secrets.otp,
      tokenHash: issued.secrets.linkToken,
      redirectTo,
      inviter,
      data: user.userMetadata,
    }
    await this.deps.mailer.add(tx, { kind, to, variables, secrets: together.map(withdrawable) }, meta)
  }

  #isTestNumber(address: Address): boolean {
    return this.deps.tokens.testOtpOf(address) !== undefined
  }
}
