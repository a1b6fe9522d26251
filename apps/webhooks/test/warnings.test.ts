import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { startInbox, type Inbox } from '@signet/testkit/inbox'
import { createLogger, createRegistry } from '@signet/telemetry'
import type { Endpoint } from '@signet/webhook-core/stores'
import { anEndpoint } from '@signet/webhook-testkit'
import { createContext } from '../src/context.js'
import { readConfig } from '../src/config/read-config.js'
import { startHarness, type Harness } from './support/harness.js'
import { ADMIN_JWT } from './support/identity-double.js'

let inbox: Inbox
let harness: Harness
beforeAll(async () => {
  inbox = await startInbox()
  harness = await startHarness({
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
})
afterAll(async () => {
  await harness.close()
  await inbox.close()
})
beforeEach(() => {
  inbox.clear()
  inbox.fail(null)
  harness.identity.failWith(null)
})

type Changes = {
  language?: string
  threshold?: number
  error?: string
  createdAt?: string
  status?: 1 | 2
  failures?: number
}

/** An endpoint of an account, failing, and a warning about it as the dispatcher records it. */
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
  const endpoint = await anEndpoint(harness.db, { accountId, url: 'https://example.com/hook?token=s3cret' })
  await harness.db.query(
    `update webhook_endpoints set consecutive_failures = $2, status = $3::smallint,
            disabled_at = case when $3::smallint = 2 then now() end, language = $4 where id = $1`,
    [endpoint.id, failures, status, language ?? null],
  )
  // Not due yet, so that the service's own round does not come first.
  const { rows } = await harness.db.query<{ id: string }>(
    `insert into webhook_endpoint_warnings
       (endpoint_id, threshold, day, failures, last_error, failed_at, failing_since, created_at, next_attempt_at)
     values ($1, $2::smallint, current_date, $2::smallint, $3, '2026-01-02T03:04:05Z', '2026-01-01T00:00:00Z', ${createdAt},
             now() + interval '1 hour') returning id`,
    [endpoint.id, threshold, error],
  )
  return { endpoint, id: rows[0]?.id ?? '' }
}

const makeDue = () =>
  harness.db.query('update webhook_endpoint_warnings set next_attempt_at = now() where outcome is null')

async function send(): Promise<void> {
  await makeDue()
  await harness.ctx.warnings?.run()
  // A round that was already under way may have begun before the rows were due.
  await harness.ctx.warnings?.run()
}

async function stateOf(id: string) {
  const { rows } = await harness.db.query<{ outcome: string | null; attempts: number; delay: number | null }>(
    `select outcome, attempts, extract(epoch from next_attempt_at - clock_timestamp())::float8 as delay
       from webhook_endpoint_warnings where id = $1`,
    [id],
  )
  return rows[0]
}

const metric = async (outcome: string): Promise<number> => {
  const text = await (await fetch(`${harness.internal}/metrics`)).text()
  return Number(
    new RegExp(`webhook_warning_emails_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0,
  )
}

describe('a warning', () => {
  it('tells the owner what fails, since when, why, and what to do', async () => {
    const user = harness.identity.addUser()
    const { endpoint, id } = await aWarning(user.id, { threshold: 10, error: 'timeout' })
    await send()
    const [mail, ...others] = inbox.messages()
    expect(others).toEqual([])
    expect(mail).toMatchObject({
      to: [user.email],
      sender: 'Signet <no-reply@signet.example>',
      subject: 'Your webhook is failing: 10 failures in a row',
    })
    expect(mail?.headers['message-id']).toBe(`<${id}@signet.example>`)
    expect(mail?.headers['auto-submitted']).toBe('auto-generated')
    for (const body of [mail?.text, mail?.html]) {
      expect(body).toContain(`https://example.com/hook (id ${endpoint.id})`)
      expect(body).toContain('1 January 2026 at 00:00 UTC')
      expect(body).toContain('2 January 2026 at 03:04 UTC: no complete response in time (timeout)')
      expect(body).toContain('respond with 200 first')
      expect(body).toContain('After 20 failures in a row it is disabled')
      expect(body).toContain('https://app.signet.example/webhooks')
      expect(body).not.toContain('s3cret')
      expect(body).not.toContain('{{')
    }
    expect(await stateOf(id)).toMatchObject({ outcome: 'sent', attempts: 1 })
  })

  it('gives way to a later one that is due as well', async () => {
    const user = harness.identity.addUser()
    const { endpoint, id } = await aWarning(user.id, { failures: 20, status: 2 })
    await harness.db.query(
      `insert into webhook_endpoint_warnings (endpoint_id, threshold, day, failures, last_error, failed_at)
       values ($1, 20, current_date, 20, 'http_500', '2026-01-02T03:04:06Z')`,
      [endpoint.id],
    )
    await send()
    expect(inbox.messages({ to: user.email }).map(({ subject }) => subject)).toEqual([
      'Your webhook was disabled after 20 failures in a row',
    ])
    expect(await stateOf(id)).toMatchObject({ outcome: 'resolved' })
  })

  it('of an endpoint that was disabled says how to enable it and get what it missed', async () => {
    const user = harness.identity.addUser()
    const { endpoint } = await aWarning(user.id, { threshold: 20, status: 2, error: 'http_404' })
    await send()
    const [mail] = inbox.messages({ to: user.email })
    expect(mail?.subject).toBe('Your webhook was disabled after 20 failures in a row')
    expect(mail?.text).toContain('it responded with status 404 (http_404)')
    expect(mail?.text).toContain(`POST /v1/webhooks/${endpoint.id}/enable`)
    expect(mail?.text).toContain(`POST /v1/webhooks/${endpoint.id}/recover`)
  })

  it.each([
    [
      'of the page on which the endpoint was saved',
      'de',
      undefined,
      'Ihr Webhook schlägt fehl: 10 Fehler in Folge',
    ],
    [
      'that the account names, before that of the page',
      'de',
      'en-GB',
      'Your webhook is failing: 10 failures in a row',
    ],
    [
      'that the account names, whatever its form',
      undefined,
      'de_CH',
      'Ihr Webhook schlägt fehl: 10 Fehler in Folge',
    ],
    [
      'that is the first one, where nobody knows another',
      undefined,
      'fr',
      'Your webhook is failing: 10 failures in a row',
    ],
  ])('speaks the language %s', async (_, language, locale, subject) => {
    const user = harness.identity.addUser(locale === undefined ? {} : { metadata: { locale } })
    await aWarning(user.id, { ...(language === undefined ? {} : { language }), error: 'timeout' })
    await send()
    const [mail] = inbox.messages({ to: user.email })
    const isGerman = subject.startsWith('Ihr')
    expect(mail?.subject).toBe(subject)
    for (const body of [mail?.text, mail?.html])
      expect(body).toContain(
        isGerman
          ? '2. Januar 2026 um 03:04 UTC: keine vollständige Antwort innerhalb der Frist (timeout)'
          : '2 January 2026 at 03:04 UTC: no complete response in time (timeout)',
      )
    expect(mail?.html).toContain(`<html lang="${isGerman ? 'de' : 'en'}">`)
  })

  it('is in the name, the colour and with the legal links of the operator', async () => {
    const user = harness.identity.addUser()
    await aWarning(user.id)
    await send()
    const [mail] = inbox.messages({ to: user.email })
    expect(mail?.text).toMatch(/^Acme Hooks\n/)
    expect(mail?.text).toContain('Support: help@acme.example')
    for (const part of ['Acme Hooks', '#005f2f', 'mailto:help@acme.example', 'https://acme.example/privacy'])
      expect(mail?.html).toContain(part)
  })

  it('goes to the address that the account has when it is sent', async () => {
    const user = harness.identity.addUser()
    await aWarning(user.id)
    user.email = 'new-address@example.com'
    await send()
    expect(inbox.messages().map(({ to }) => to)).toEqual([['new-address@example.com']])
    const { rows } = await harness.db.query<{ text: string }>(
      'select w::text as text from webhook_endpoint_warnings w',
    )
    expect(rows.map(({ text }) => text).join()).not.toMatch(/@|example/)
  })

  it.each<[string, object]>([
    ['was deleted', { deleted: true }],
    ['is banned', { banned: true }],
    ['has a phone number only', { email: '', phone: '+4915100000000' }],
    ['never confirmed its address', { confirmed: false }],
  ])('of an account that %s goes nowhere', async (_, changes) => {
    const user = harness.identity.addUser(changes)
    const { id } = await aWarning(user.id)
    await send()
    expect([inbox.messages(), await stateOf(id)]).toMatchObject([[], { outcome: 'no_address' }])
  })

  it.each<[string, Changes]>([
    ['an endpoint that succeeded since', { threshold: 15, failures: 2 }],
    ['an endpoint that was enabled since', { threshold: 20, failures: 0, status: 1 }],
  ])('about %s is not sent', async (_, changes) => {
    const { id } = await aWarning(harness.identity.addUser().id, changes)
    await send()
    expect([inbox.messages(), await stateOf(id)]).toMatchObject([[], { outcome: 'resolved' }])
  })

  it('that nobody could send for a day is given up, with a line and a count', async () => {
    const before = await metric('expired')
    const { id } = await aWarning(harness.identity.addUser().id, { createdAt: `now() - interval '25 hours'` })
    await send()
    expect([inbox.messages(), await stateOf(id)]).toMatchObject([[], { outcome: 'expired' }])
    expect(await metric('expired')).toBe(before + 1)
    const line = harness.logLines
      .map((one) => JSON.parse(one) as object)
      .find((one) => 'warning_id' in one && one.warning_id === id)
    expect(line).toMatchObject({ level: 'error', outcome: 'expired' })
  })

  it('that the mail server refuses for good is given up', async () => {
    inbox.fail({ at: 'recipient', code: 550 })
    const { id } = await aWarning(harness.identity.addUser().id)
    await send()
    expect(await stateOf(id)).toMatchObject({ outcome: 'refused', attempts: 1 })
  })

  it.each<[string, () => void]>([
    ['the mail server has no time', () => inbox.fail({ at: 'message', code: 451 })],
    ['the identity server is out of order', () => harness.identity.failWith({ status: 503 })],
    ['the identity server refuses our credential', () => harness.identity.failWith({ status: 401 })],
  ])('waits longer each time when %s, and is sent in the end', async (_, fail) => {
    fail()
    const user = harness.identity.addUser()
    const { id } = await aWarning(user.id)
    const delays: number[] = []
    for (let round = 1; round <= 3; round += 1) {
      await send()
      const state = await stateOf(id)
      expect(state).toMatchObject({ outcome: null, attempts: round })
      delays.push(state?.delay ?? 0)
    }
    expect(delays[0]).toBeGreaterThan(15)
    expect(delays[2]).toBeGreaterThan(2 * (delays[0] ?? 0))
    inbox.fail(null)
    harness.identity.failWith(null)
    await send()
    expect(inbox.messages({ to: user.email })).toHaveLength(1)
    expect(await stateOf(id)).toMatchObject({ outcome: 'sent', attempts: 4 })
  })
})

describe('several replicas', () => {
  it('send each warning once', async () => {
    const users = Array.from({ length: 30 }, () => harness.identity.addUser())
    for (const user of users) await aWarning(user.id)
    const replicas = Array.from({ length: 3 }, () =>
      createContext(harness.ctx.config, {
        log: createLogger({ level: 'error', component: 'replica', sink: () => undefined }),
        registry: createRegistry({ runtime: false }),
      }),
    )
    await makeDue()
    await Promise.all(replicas.map(async ({ warnings }) => await warnings?.run()))
    await Promise.all(replicas.map((replica) => replica.close()))
    await send()
    expect(
      inbox
        .messages()
        .flatMap(({ to }) => to)
        .sort(),
    ).toEqual(users.map(({ email }) => email).sort())
  })
})

describe('emails that are switched off', () => {
  it.each(['WEBHOOKS_WARNING_EMAILS', 'WEBHOOKS_SMTP_HOST'])('by %s have no sender', async (name) => {
    const env = {
      WEBHOOKS_BASE_URL: 'https://hooks.example',
      WEBHOOKS_DATABASE_URL: harness.databaseUrl,
      WEBHOOKS_REDIS_URL: harness.ctx.config.redisUrl,
      WEBHOOKS_IDENTITY_URL: harness.identity.url,
      WEBHOOKS_SECRET_KEYS: `k1:${Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')}`,
      WEBHOOKS_INTERNAL_TOKENS: `pipeline:${'ab'.repeat(32)}`,
      WEBHOOKS_IDENTITY_SERVICE_TOKEN: ADMIN_JWT,
      ...(name === 'WEBHOOKS_WARNING_EMAILS'
        ? {
            WEBHOOKS_SMTP_HOST: '127.0.0.1',
            WEBHOOKS_SMTP_PORT: '25',
            WEBHOOKS_SMTP_ADMIN_EMAIL: 'no-reply@signet.example',
            WEBHOOKS_WARNING_EMAILS: 'false',
          }
        : {}),
    }
    const context = createContext(readConfig(env), {
      log: createLogger({ level: 'error', component: 'off', sink: () => undefined }),
      registry: createRegistry({ runtime: false }),
    })
    expect(context.warnings).toBeUndefined()
    await context.close()
  })
})

it('warnings are forgotten after a week', async () => {
  const old = await aWarning(harness.identity.addUser().id, { createdAt: `now() - interval '8 days'` })
  const recent = await aWarning(harness.identity.addUser().id, { createdAt: `now() - interval '6 days'` })
  await harness.ctx.cleanup.runDaily()
  expect(await stateOf(old.id)).toBeUndefined()
  expect(await stateOf(recent.id)).toBeDefined()
})
