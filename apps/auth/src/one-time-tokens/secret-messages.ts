import { randomUUID } from 'node:crypto'
import { type Address } from '../addresses/address.js'
import { confirmationUrl, type LinkConfig, type LinkType } from '../mail/confirmation-url.js'
import { type MailKind } from '../mail/kinds.js'
import { type Mailer } from '../mail/mailer.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type SmsChannel, type SmsSender } from '../sms/sms-sender.js'
import { type User } from '../users/user.js'
import { type Issued, type OneTimeTokens } from './one-time-tokens.js'

export type LinkKind = Exclude<MailKind, 'reauthentication'>

const LINK_TYPES: Readonly<Record<LinkKind, LinkType>> = {
  invite: 'invite',
  confirmation: 'signup',
  recovery: 'recovery',
  magic_link: 'magiclink',
  email_change: 'email_change',
}

type Deps = { mailer: Mailer; sms: SmsSender; tokens: OneTimeTokens; links: LinkConfig }

/** Brings one-time tokens to their owners, after the transaction that made them. */
export class SecretMessages {
  constructor(private readonly deps: Deps) {}

  /** Throws for an address that no mail goes to; asked beforehand so that nothing is left of what cannot be sent. */
  refuseAddress({ kind, value }: Address): void {
    if (kind === 'email') this.deps.mailer.refuse(value)
  }

  async mailLink(
    kind: LinkKind,
    user: User,
    issued: Issued,
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<void> {
    const { mailer, tokens } = this.deps
    await tokens.deliver([issued], () =>
      mailer.send(
        kind,
        issued.address.value,
        {
          email: user.email ?? issued.address.value,
          newEmail: user.newEmail ?? undefined,
          sendingTo: issued.address.value,
          confirmationUrl: this.linkOf(kind, issued, redirectTo),
          token: issued.secrets.otp,
          tokenHash: issued.secrets.linkToken,
          redirectTo,
          data: user.userMetadata,
        },
        meta,
      ),
    )
  }

  /** Both halves of an e-mail change, which have one fate: one that never arrives leaves the other without use. */
  async mailChange(
    user: User,
    issued: readonly Issued[],
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<void> {
    await this.deps.tokens.deliver(issued, async () => {
      for (const half of issued) await this.mailLink('email_change', user, half, redirectTo, meta)
    })
  }

  async mailNonce(user: User, issued: Issued, meta: RequestMeta): Promise<void> {
    const { mailer, tokens } = this.deps
    await tokens.deliver([issued], () =>
      mailer.send(
        'reauthentication',
        issued.address.value,
        {
          email: issued.address.value,
          token: issued.secrets.otp,
          data: user.userMetadata,
        },
        meta,
      ),
    )
  }

  /** Sends the code, except to a test number, and returns the gateway's message id. */
  async sms(issued: Issued, channel: SmsChannel, meta: RequestMeta): Promise<string> {
    const { sms, tokens } = this.deps
    if (tokens.testOtpOf(issued.address) !== undefined) return randomUUID()
    const { messageId } = await tokens.deliver([issued], () =>
      sms.send(issued.address.value, issued.secrets.otp, channel, meta),
    )
    return messageId
  }

  /** The link that the mail of this kind carries. */
  linkOf(kind: LinkKind, issued: Issued, redirectTo: string): string {
    return confirmationUrl(this.deps.links, kind, {
      token: issued.secrets.linkToken,
      type: LINK_TYPES[kind],
      redirectTo,
    })
  }
}
