import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { startInbox, type Inbox } from '@signet/testkit/inbox'
import type { Endpoint } from '@signet/webhook-core/stores'
import { anEndpoint } from '@signet/webhook-testkit'
import { startHarness, type Harness } from './harness.js'
import { ADMIN_JWT } from './identity-double.js'

export type Changes = {
  language?: string
  threshold?: number
  error?: string
  createdAt?: string
  status?: 1 | 2
  failures?: number
}

/** The service with a mail server for the tests of a file, and functions that record failing endpoints as a dispatcher does. */
export function useWarnings() {
  let started: { inbox: Inbox; harness: Harness } | undefined
  const rig = () => {
    if (!started) throw new Error('the service is there from beforeAll on')
    return started
  }
  beforeAll(async () => {
    const inbox = await startInbox()
    const harness = await startHarness({
      env: {
        WEBHOOKS_SMTP_HOST: '127.0.0.1',
        WEBHOOKS_SMTP_PORT: String(inbox.smtpPort),
        WEBHOOKS_SMTP_ADMIN_EMAIL: 'no-reply@signet.example',
        WEBHOOKS_SMTP_SENDER_NAME: 'Signet',
        WEBHOOKS_IDENTITY_SERVICE_TOKEN: ADMIN_JWT,
        WEBHOOKS_MANAGE_URL: 'https://app.signet.example/webhooks',
        WEBHOOKS_BRAND_NAME: 'Acme Hooks',
        WEBHOOKS_BRAND_ACCENT_COLOR: '#005f2f',
        WEBHOOKS_BRAND_SUPPORT: 'help@acme.example',
        WEBHOOKS_BRAND_PRIVACY_URL: 'https://acme.example/privacy',
      },
    })
    started = { inbox, harness }
  })
  afterAll(async () => {
    await started?.harness.close()
    await started?.inbox.close()
  })
  beforeEach(() => {
    const { inbox, harness } = rig()
    inbox.clear()
    inbox.fail(null)
    harness.identity.failWith(null)
  })

  /** A failing endpoint of an account, and a warning about it as the dispatcher records it. */
  async function aWarning(
    accountId: string,
    {
      language,
      threshold = 10,
      error = 'http_500',
      createdAt = 'now()',
      status = 1,
      failures = threshold,
    }: Changes = {},
  ): Promise<{ endpoint: Endpoint; id: string }> {
    const endpoint = await anEndpoint(rig().harness.db, {
      accountId,
      url: 'https://example.com/hook?token=s3cret',
    })
    await rig().harness.db.query(
      `update webhook_endpoints set consecutive_failures = $2, status = $3::smallint,
              disabled_at = case when $3::smallint = 2 then now() end, language = $4 where id = $1`,
      [endpoint.id, failures, status, language ?? null],
    )
    // Not due yet, so that the service's own round does not send it first.
    const { rows } = await rig().harness.db.query<{ id: string }>(
      `insert into webhook_endpoint_warnings
         (endpoint_id, threshold, day, failures, last_error, failed_at, failing_since, created_at, next_attempt_at)
       values ($1, $2::smallint, current_date, $2::smallint, $3, '2026-01-02T03:04:05Z', '2026-01-01T00:00:00Z', ${createdAt},
               now() + interval '1 hour') returning id`,
      [endpoint.id, threshold, error],
    )
    return { endpoint, id: rows[0]?.id ?? '' }
  }

  const makeDue = () =>
    rig().harness.db.query(
      'update webhook_endpoint_warnings set next_attempt_at = now() where outcome is null',
    )

  async function send(): Promise<void> {
    await makeDue()
    await rig().harness.ctx.warnings?.run()
    // A round that was already under way may have begun before the rows were due.
    await rig().harness.ctx.warnings?.run()
  }

  async function stateOf(id: string) {
    const { rows } = await rig().harness.db.query<{
      outcome: string | null
      attempts: number
      delay: number | null
    }>(
      `select outcome, attempts, extract(epoch from next_attempt_at - clock_timestamp())::float8 as delay
         from webhook_endpoint_warnings where id = $1`,
      [id],
    )
    return rows[0]
  }

  return {
    get inbox() {
      return rig().inbox
    },
    get harness() {
      return rig().harness
    },
    aWarning,
    makeDue,
    send,
    stateOf,
  }
}
