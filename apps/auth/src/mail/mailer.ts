import { type MailKind, type MailVariables, type NoticeKind } from './kinds.js'

export type Mailer = {
  /**
   * Sends one mail and resolves when the SMTP server took it. Throws `email_address_not_authorized`,
   * `over_email_send_rate_limit`, or `unexpected_failure` when it could not be sent. Never call it in a transaction.
   */
  send(kind: MailKind, to: string, variables: MailVariables): Promise<void>
  /** Sends a notice when its switch is on and `to` is not empty. Never rejects: failures are logged. */
  notify(kind: NoticeKind, to: string, variables: MailVariables): Promise<void>
  close(): Promise<void>
}

/** The mailer's part of the configuration (contract 10.1 to 10.4). */
export type MailConfig = {
  siteUrl: string
  /** Undefined where email is disabled: mails are then skipped and logged. */
  smtp:
    | {
        host: string
        port: number
        user?: string | undefined
        pass?: string | undefined
        adminEmail: string
        senderName?: string | undefined
      }
    | undefined
  /** Overrides by kind; a template is a URL, or a path below the site URL. */
  subjects: Readonly<Partial<Record<MailKind | NoticeKind, string>>>
  templates: Readonly<Partial<Record<MailKind | NoticeKind, string>>>
  /** Notices that are switched on. */
  notices: ReadonlySet<NoticeKind>
  /** When not empty, mail goes to these addresses only (labels `+x` ignored). */
  authorizedAddresses: readonly string[]
}
