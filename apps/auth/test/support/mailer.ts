import { SIGNET } from '@signet/brand'
import { createLogger, createRegistry } from '@signet/telemetry'
import type { Inbox } from '@signet/testkit/inbox'
import type { SmtpConfig } from '@signet/mail'
import { createMailTransport, type MailTransport } from '../../src/mail/mail-transport.js'
import { startInbox } from './inbox.js'
import type { MailVariables } from '../../src/mail/kinds.js'
import { createObserver } from '../../src/observers/observer.js'
import { createOutbound } from '../../src/outbound/outbound.js'

export const LINK = 'https://id.example/verify?token=abc&type=signup&redirect_to=https%3A%2F%2Fapp.dev'

/** Every variable an email may print. */
export const variables: MailVariables = {
  email: 'ann@example.com',
  confirmationUrl: LINK,
  recoveryUrl: 'https://id.example/ui/forgot',
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
  recoveryCodesLeft: '7',
  deletionDate: '2026-12-01T09:30:00.000Z',
  data: { name: 'Ann <script>' },
}

/** What the outbox passes along with an email. */
export const MESSAGE: Parameters<MailTransport['send']>[3] = {
  id: 'b9c1c1d0-6f0e-4a53-9d2b-0f6f3c0a4b11',
  requestId: 'request-1',
  origin: {
    ip: '203.0.113.7',
    route: '/token',
    language: 'en',
    userAgent: 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36',
    at: new Date('2026-03-04T05:06:07Z'),
  },
  signal: new AbortController().signal,
}

type Deps = Parameters<typeof createMailTransport>[0]

/** Opens mail transports to one real SMTP server, and records what they log. */
export class MailRig {
  readonly #outbound = createOutbound({ allowPrivateUrls: true })
  readonly #transports: MailTransport[] = []
  /** Everything logged since the last reset. */
  lines: string[] = []
  readonly log = createLogger({ level: 'debug', component: 'test', sink: (line) => this.lines.push(line) })
  readonly observer = createObserver(this.log, createRegistry({ runtime: false }))

  private constructor(readonly inbox: Inbox) {}

  static async start(): Promise<MailRig> {
    return new MailRig(await startInbox())
  }

  readonly smtp = (overrides: Partial<SmtpConfig> = {}): SmtpConfig => ({
    host: '127.0.0.1',
    port: this.inbox.smtpPort,
    adminEmail: 'no-reply@app.dev',
    ...overrides,
  })

  readonly aTransport = (config: Partial<Deps['config']> = {}, deps: Partial<Deps> = {}): MailTransport => {
    const transport = createMailTransport({
      config: {
        siteUrl: 'https://app.dev',
        brand: SIGNET,
        secretMs: 3_600_000,
        smtp: this.smtp(),
        subjects: {},
        templates: {},
        connections: 2,
        ...config,
      },
      outbound: this.#outbound,
      observer: this.observer,
      ...deps,
    })
    this.#transports.push(transport)
    return transport
  }

  /** For `beforeEach`: empties the inbox and the log, and makes the server accept every email. */
  reset(): void {
    this.inbox.clear()
    this.inbox.fail(null)
    this.lines = []
  }

  /** For `afterEach`: open connections would keep the inbox from closing. */
  async closeTransports(): Promise<void> {
    await Promise.all(this.#transports.splice(0).map((transport) => transport.close()))
  }

  async close(): Promise<void> {
    await this.closeTransports()
    await this.inbox.close()
    await this.#outbound.close()
  }
}
