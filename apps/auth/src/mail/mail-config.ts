import { type MailKind, type NoticeKind } from './kinds.js'

/** What emails say and look like. */
export type RenderConfig = {
  siteUrl: string
  /** Overrides by kind; a template is a URL, or a path below the site URL. */
  subjects: Readonly<Partial<Record<MailKind | NoticeKind, string | undefined>>>
  templates: Readonly<Partial<Record<MailKind | NoticeKind, string | undefined>>>
}

/** Everything about emails that operators set. */
export type MailConfig = RenderConfig & {
  /** Undefined where email is disabled: emails are then skipped and logged. */
  smtp: SmtpConfig | undefined
  /** Notices that are switched on. */
  notices: ReadonlySet<NoticeKind>
  /** When not empty, email goes to these addresses only (labels `+x` ignored). */
  authorizedAddresses: readonly string[]
  /** To the mail server, at the same time. */
  connections: number
  /** How long an email is worth sending: one with a secret, and a notice. */
  lifeMs: { secret: number; notice: number }
}

export type SmtpConfig = {
  host: string
  port: number
  user?: string | undefined
  pass?: string | undefined
  adminEmail: string
  senderName?: string | undefined
}
