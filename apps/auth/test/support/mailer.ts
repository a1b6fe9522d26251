import { createLogger } from '@signet/telemetry'
import { startInbox, type Inbox } from '@signet/testkit'
import { createMailer, type MailConfig, type Mailer, type SmtpConfig } from '../../src/mail/mailer.js'
import { noticeKinds, type MailVariables } from '../../src/mail/kinds.js'
import { createOutbound } from '../../src/outbound/outbound.js'

export const LINK = 'https://id.example/verify?token=abc&type=signup&redirect_to=https%3A%2F%2Fapp.dev'

/** Every variable a mail may print. */
export const variables: MailVariables = {
  email: 'ann@example.com',
  confirmationUrl: LINK,
  token: '123456',
  tokenHash: 'hash-of-link',
  redirectTo: 'https://app.dev/welcome',
  newEmail: 'new@example.com',
  oldEmail: 'old@example.com',
  sendingTo: 'new@example.com',
  phone: '15550100001',
  oldPhone: '15550100002',
  provider: 'github',
  factorType: 'totp',
  data: { name: 'Ann <script>' },
}

/** Mailers that send to one real SMTP server. */
export class MailerRig {
  readonly #outbound = createOutbound({ allowPrivateUrls: true })
  readonly #mailers: Mailer[] = []
  /** Everything logged since the last reset. */
  lines: string[] = []
  readonly log = createLogger({ level: 'debug', component: 'test', sink: (line) => this.lines.push(line) })

  private constructor(readonly inbox: Inbox) {}

  static async start(): Promise<MailerRig> {
    return new MailerRig(await startInbox())
  }

  readonly smtp = (overrides: Partial<SmtpConfig> = {}): SmtpConfig => ({
    host: '127.0.0.1',
    port: this.inbox.smtpPort,
    adminEmail: 'no-reply@app.dev',
    ...overrides,
  })

  readonly aMailer = (
    config: Partial<MailConfig> = {},
    deps: Partial<Parameters<typeof createMailer>[0]> = {},
  ): Mailer => {
    const mailer = createMailer({
      config: {
        siteUrl: 'https://app.dev',
        smtp: this.smtp(),
        subjects: {},
        templates: {},
        notices: new Set(noticeKinds),
        authorizedAddresses: [],
        ...config,
      },
      outbound: this.#outbound,
      log: this.log,
      limit: { consume: () => Promise.resolve() },
      ...deps,
    })
    this.#mailers.push(mailer)
    return mailer
  }

  /** Before each test: nothing in the inbox, and a server that takes everything. */
  reset(): void {
    this.inbox.clear()
    this.inbox.fail(null)
    this.lines = []
  }

  /** After each test: connections that mailers keep open would hold the inbox up. */
  async closeMailers(): Promise<void> {
    await Promise.all(this.#mailers.splice(0).map((mailer) => mailer.close()))
  }

  async close(): Promise<void> {
    await this.closeMailers()
    await this.inbox.close()
    await this.#outbound.close()
  }
}
