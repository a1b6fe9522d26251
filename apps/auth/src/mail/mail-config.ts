import type { Brand } from '@signet/brand'
import type { SmtpConfig } from '@signet/mail'
import type { MailKind, NoticeKind } from './kinds.js'

/** The texts and the look of emails. */
export type RenderConfig = {
  brand: Brand
  /** How long links and codes are valid. */
  secretMs: number
  siteUrl: string
  /** Overrides by kind; a template is a URL, or a path below the site URL. */
  subjects: Readonly<Partial<Record<MailKind | NoticeKind, string | undefined>>>
  templates: Readonly<Partial<Record<MailKind | NoticeKind, string | undefined>>>
}

/** All email settings. */
export type MailConfig = RenderConfig & {
  /** Undefined where email is disabled: emails are then skipped and logged. */
  smtp: SmtpConfig | undefined
  /** Enabled notices. */
  notices: ReadonlySet<NoticeKind>
  /** When not empty, only these addresses get email (labels `+x` are ignored). */
  authorizedAddresses: readonly string[]
  /** Maximum number of concurrent connections to the mail server. */
  connections: number
  /** For how long to try to deliver an email: with a secret, and for a notice. */
  lifeMs: { secret: number; notice: number }
}
