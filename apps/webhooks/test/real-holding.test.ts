import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { startStack, waitFor, type Stack } from '@signet/testkit'
import { countAccountRows } from '@signet/webhook-core/stores'
import { aNotice } from './support/api-data.js'

// From the administrator's request at the identity server to the HTTPS request of a delivery: three processes.

let folder: string
let receiver: Receiver
let stack: Stack
let db: Db
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signet-holding-'))
  receiver = await startReceiver()
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, receiver.authorityCert)
  stack = await startStack({ env: { dispatcher: { NODE_EXTRA_CA_CERTS: authority } } })
  db = new Db({ connectionString: stack.webhooksDatabaseUrl, max: 2 })
})
afterAll(async () => {
  await db.close()
  await stack.close()
  await receiver.close()
  rmSync(folder, { recursive: true })
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

/** Somebody with an endpoint at the receiver. */
async function aSubscriber() {
  const signUp = {
    email: `${randomBytes(6).toString('hex')}@example.test`,
    password: 'correct horse battery',
  }
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
    /** Deliveries that were put off until the end of the ban. */
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
