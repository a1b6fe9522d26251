import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { startInbox, type Inbox } from '@signet/testkit/inbox'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { startStack, waitFor, type Stack } from '@signet/testkit'
import { countAccountRows } from '@signet/webhook-core/stores'
import { aNotice } from './support/api-data.js'

// Three processes work together: from an administrator's request to the identity server to the HTTPS request of a delivery, and from
// a failing receiver to the email to its owner, with kills in between.

let folder: string
let receiver: Receiver
let inbox: Inbox
let stack: Stack
let db: Db
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signet-deliveries-'))
  receiver = await startReceiver()
  inbox = await startInbox()
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, receiver.authorityCert)
  stack = await startStack({
    env: {
      webhooks: {
        WEBHOOKS_SMTP_HOST: '127.0.0.1',
        WEBHOOKS_SMTP_PORT: String(inbox.smtpPort),
        WEBHOOKS_SMTP_ADMIN_EMAIL: 'no-reply@signet.example',
      },
      dispatcher: { NODE_EXTRA_CA_CERTS: authority },
    },
  })
  db = new Db({ connectionString: stack.webhooksDatabaseUrl, max: 2 })
})
afterAll(async () => {
  await db.close()
  await stack.close()
  await inbox.close()
  await receiver.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  inbox.clear()
  inbox.fail(null)
})

async function ask(method: string, url: string, token: string | null, body?: unknown) {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

/** A person with an endpoint at the receiver. */
async function aSubscriber() {
  const email = `${randomBytes(6).toString('hex')}@example.test`
  const signUp = { email, password: 'correct horse battery' }
  const { body } = await ask('POST', `${stack.authUrl}/signup`, null, signUp)
  const { id } = body['user'] as { id: string }
  const jwt = String(body['access_token'])
  const made = await ask('POST', `${stack.webhooksUrl}/account/tokens`, jwt, { name: 'script' })
  const path = `/hooks/${id}`
  const endpoint = { url: receiver.url(path), events: ['summary.completed'] }
  const created = await ask('POST', `${stack.webhooksUrl}/v1/webhooks`, String(made.body['token']), endpoint)
  expect(created.status).toBe(200)
  const administer = async (method: string, change?: unknown) =>
    expect(
      (await ask(method, `${stack.authUrl}/admin/users/${id}`, stack.adminToken, change)).status,
    ).toBeLessThan(300)
  return {
    id,
    email,
    ban: (duration: string) => administer('PUT', { ban_duration: duration }),
    remove: () => administer('DELETE'),
    isBanned: () =>
      waitFor(async () => {
        const { rows } = await db.query('select from account_states where account_id = $1', [id])
        return rows.length === 1
      }),
    record: async () => {
      const url = `${stack.internalUrl}/internal/v1/summary-ready`
      expect((await ask('POST', url, stack.internalToken, aNotice(id))).status).toBe(202)
    },
    received: () => receiver.deliveries({ path }).length,
    /** Waits until `count` deliveries are held until the end of the ban. */
    untilHeld: (count: number) =>
      waitFor(async () => {
        const { rows } = await db.query<{ held: number }>(
          `select count(*)::int as held from webhook_deliveries d
           join webhook_endpoints e on e.id = d.endpoint_id join account_states s on s.account_id = e.account_id
           where e.account_id = $1 and d.status = 0 and d.attempts = 0 and d.next_attempt_at = s.banned_until`,
          [id],
        )
        return rows[0]?.held === count
      }),
  }
}

/** A person whose receiver answers 500. */
async function aFailingSubscriber() {
  const { id, email, record } = await aSubscriber()
  receiver.hook(`/hooks/${id}`, { otherwise: reply(500) })
  return {
    email,
    /** Causes failed attempts, each only after the failure of the previous one is recorded. */
    async fail(times: number) {
      for (let time = 0; time < times; time += 1) {
        const before = await failures(id)
        await record()
        await waitFor(async () => (await failures(id)) > before, { describe: 'a failure' })
      }
    },
  }
}

async function failures(accountId: string): Promise<number> {
  const { rows } = await db.query<{ failures: number }>(
    'select consecutive_failures as failures from webhook_endpoints where account_id = $1',
    [accountId],
  )
  return rows[0]?.failures ?? 0
}

const subjects = (email: string) => inbox.messages({ to: email }).map(({ subject }) => subject)

describe('deliveries of an account that is banned at the identity server', () => {
  it('are held, and leave once the ban is lifted', async () => {
    const person = await aSubscriber()
    await person.record()
    await waitFor(() => person.received() === 1)
    await person.ban('24h')
    await person.isBanned()
    await person.record()
    await person.record()
    await person.untilHeld(2)
    expect(person.received()).toBe(1)
    await person.ban('none')
    await waitFor(() => person.received() === 3)
  })

  it('end when the account is deleted instead', async () => {
    const person = await aSubscriber()
    await person.ban('24h')
    await person.isBanned()
    await person.record()
    await person.untilHeld(1)
    await person.remove()
    await waitFor(async () =>
      Object.values(await countAccountRows(db, person.id)).every((rows) => rows === 0),
    )
    expect(person.received()).toBe(0)
  })
})

describe('warnings of an endpoint that fails', () => {
  it('reach its owner by email at 10, at 15, and when it is disabled', async () => {
    const owner = await aFailingSubscriber()
    await owner.fail(9)
    expect(subjects(owner.email)).toEqual([])
    await owner.fail(1)
    await inbox.waitForMail({ to: owner.email, subject: /10 failures/ })
    await owner.fail(5)
    await inbox.waitForMail({ to: owner.email, subject: /15 failures/ })
    await owner.fail(5)
    await inbox.waitForMail({ to: owner.email, subject: /was disabled after 20/ })
    expect(subjects(owner.email)).toHaveLength(3)
  })

  it('survive the death of their sender, before and after the mail server took it', async () => {
    const owner = await aFailingSubscriber()
    const claimed = async () => {
      const { rows } = await db.query(
        'select from webhook_endpoint_warnings where outcome is null and attempts > 0',
      )
      return rows.length > 0
    }
    // The mail server takes the data and never answers: the row is claimed, and the email is lost.
    inbox.fail({ at: 'hang' })
    await owner.fail(10)
    await waitFor(claimed, { describe: 'the claim' })
    await stack.kill('webhooks')
    expect(subjects(owner.email)).toEqual([])

    const due = () =>
      db.query('update webhook_endpoint_warnings set next_attempt_at = now() where outcome is null')
    // Now it keeps the email, but still does not answer.
    inbox.fail({ at: 'silent' })
    await due()
    await stack.restart('webhooks')
    const first = await inbox.waitForMail({ to: owner.email })
    await stack.kill('webhooks')

    inbox.fail(null)
    await due()
    await stack.restart('webhooks')
    const second = await inbox.waitForMail({ to: owner.email, after: first })
    expect(second.headers['message-id']).toBe(first.headers['message-id'])
    await waitFor(async () => !(await claimed()), { describe: 'the end of the warning' })
    expect(subjects(owner.email)).toHaveLength(2)
  })
})
