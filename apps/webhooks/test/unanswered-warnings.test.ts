import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { SIGNET } from '@signet/brand'
import { openSmtpTransport } from '@signet/mail'
import { createRegistry } from '@signet/telemetry'
import { startInbox, type Inbox } from '@signet/testkit/inbox'
import { anEndpoint } from '@signet/webhook-testkit'
import { createWebhookObserver } from '../src/observers/webhook-observer.js'
import { WarningService } from '../src/warnings/warning-service.js'
import { startHarness, type Harness } from './support/harness.js'
import { ADMIN_JWT } from './support/identity-double.js'

let inbox: Inbox
let harness: Harness
beforeAll(async () => {
  inbox = await startInbox()
  // This service sends no warnings itself, because it has no mail server.
  harness = await startHarness({ env: { WEBHOOKS_IDENTITY_SERVICE_TOKEN: ADMIN_JWT } })
})
afterAll(async () => {
  await harness.close()
  await inbox.close()
})

type Timers = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>

/** A warning that the mail server has taken without an answer. */
async function anUnansweredWarning(limits: { closeMs?: number } = {}) {
  let passLimit: () => void = () => undefined
  const setTimeout = (run: () => void) => (passLimit = run)
  const smtp = { host: '127.0.0.1', port: inbox.smtpPort, adminEmail: 'no-reply@signet.example' }
  const service = new WarningService({
    db: harness.db,
    identity: harness.ctx.identity,
    webhookObserver: createWebhookObserver(harness.ctx.log, createRegistry({ runtime: false })),
    transport: openSmtpTransport(smtp, { connections: 1 }),
    brand: SIGNET,
    manageUrl: () => 'https://app.signet.example/webhooks',
    timers: { setTimeout, clearTimeout: () => undefined } as unknown as Timers,
    ...limits,
  })
  inbox.fail({ at: 'silent' })
  // Of the test before: on a slow machine, it would be due again.
  await harness.db.query('delete from webhook_endpoint_warnings')
  const user = harness.identity.addUser()
  const { id: endpointId } = await anEndpoint(harness.db, { accountId: user.id })
  await harness.db.query('update webhook_endpoints set consecutive_failures = 10 where id = $1', [endpointId])
  await harness.db.query(
    `insert into webhook_endpoint_warnings (endpoint_id, threshold, day, failures, last_error, failed_at)
     values ($1, 10, current_date, 10, 'http_500', now())`,
    [endpointId],
  )
  const run = service.run()
  await inbox.waitForMail({ to: user.email })
  const state = async () => {
    const { rows } = await harness.db.query<{ outcome: string | null; attempts: number; delay: number }>(
      `select outcome, attempts, extract(epoch from next_attempt_at - clock_timestamp())::float8 as delay
         from webhook_endpoint_warnings where endpoint_id = $1`,
      [endpointId],
    )
    return rows[0]
  }
  return { service, run, state, passLimit, copies: () => inbox.messages({ to: user.email }).length }
}

/** More than the 30 seconds after which warnings are sent again when they fail in another way. */
const LATE_SECONDS = 40

it('a warning without an answer of the mail server is sent again later than others', async () => {
  const { service, run, state, passLimit, copies } = await anUnansweredWarning()
  passLimit()
  await run
  expect(await state()).toMatchObject({ outcome: null, attempts: 1 })
  expect((await state())?.delay).toBeGreaterThan(LATE_SECONDS)
  expect(copies()).toBe(1)
  await service.close()
})

it('a warning without an answer does not hold up the end of the process, and is left for later', async () => {
  const { service, run, state } = await anUnansweredWarning({ closeMs: 1 })
  await service.close()
  await run
  expect(await state()).toMatchObject({ outcome: null, attempts: 1 })
  expect((await state())?.delay).toBeGreaterThan(LATE_SECONDS)
})
