import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { startInbox, type Inbox } from '@signet/testkit/inbox'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { startStack, waitFor, type Stack } from '@signet/testkit'
import { aNotice } from './support/api-data.js'

// From a receiver that fails to the email of its owner: three processes, a mail server, and kills in between.

let folder: string
let receiver: Receiver
let inbox: Inbox
let stack: Stack
let db: Db
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signet-warnings-'))
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

async function post(url: string, token: string | null, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  expect(response.status).toBeLessThan(300)
  return (await response.json()) as Record<string, unknown>
}

/** Somebody whose receiver answers 500. */
async function aFailingSubscriber() {
  const email = `${randomBytes(6).toString('hex')}@example.test`
  const made = await post(`${stack.authUrl}/signup`, null, { email, password: 'correct horse battery' })
  const { id } = made['user'] as { id: string }
  const { token } = await post(`${stack.webhooksUrl}/account/tokens`, String(made['access_token']), {
    name: 'a',
  })
  receiver.hook(`/hooks/${id}`, { otherwise: reply(500) })
  const endpoint = { url: receiver.url(`/hooks/${id}`), events: ['summary.completed'] }
  await post(`${stack.webhooksUrl}/v1/webhooks`, String(token), endpoint)
  return {
    email,
    /** Each is one failed attempt; the next one comes only after the failure is recorded. */
    async fail(times: number) {
      for (let time = 0; time < times; time += 1) {
        const before = await failures(id)
        await post(`${stack.internalUrl}/internal/v1/summary-ready`, stack.internalToken, aNotice(id))
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

it('the owner of a receiver that fails gets an email at 10, at 15, and when it is disabled', async () => {
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

it('a warning survives the death of its sender, before and after the mail server took it', async () => {
  const owner = await aFailingSubscriber()
  const claimed = async () => {
    const { rows } = await db.query(
      'select from webhook_endpoint_warnings where outcome is null and attempts > 0',
    )
    return rows.length > 0
  }
  // The mail server takes the data and says nothing: the row is claimed, and the email is nowhere.
  inbox.fail({ at: 'hang' })
  await owner.fail(10)
  await waitFor(claimed, { describe: 'the claim' })
  await stack.kill('webhooks')
  expect(subjects(owner.email)).toEqual([])

  const due = () =>
    db.query('update webhook_endpoint_warnings set next_attempt_at = now() where outcome is null')
  // Now it keeps the email, and its answer is never heard.
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
