import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { countAccountRows } from '@signet/webhook-core/stores'
import { FormBrowser, Person, startStack, waitFor, type Stack } from '@signet/testkit'
import { aNotice } from './support/api-data.js'

// Both services, as separate processes, must agree: while both run, after the identity server was killed with events to send, and
// after this service was unavailable.

let stack: Stack
let db: Db
beforeAll(async () => {
  stack = await startStack({ apps: ['auth', 'webhooks'] })
  db = new Db({ connectionString: stack.webhooksDatabaseUrl, max: 2 })
})
afterAll(async () => {
  await db.close()
  await stack.close()
})

const PASSWORD = 'correct horse battery staple'

async function ask<T = Record<string, unknown>>(
  method: string,
  url: string,
  { token, body }: { token?: string; body?: unknown } = {},
): Promise<{ status: number; body: T }> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as T }
}

type SignedIn = { access_token: string; user: { id: string } }

/** A person with a personal token, which does not depend on the sessions of the identity server. */
async function aPerson() {
  const email = `${randomBytes(6).toString('hex')}@example.test`
  const signedUp = await ask<SignedIn>('POST', `${stack.authUrl}/signup`, {
    body: { email, password: PASSWORD },
  })
  const { access_token: jwt, user } = signedUp.body
  const made = await ask<{ token: string }>('POST', `${stack.webhooksUrl}/account/tokens`, {
    token: jwt,
    body: { name: 'script' },
  })
  expect(made.status).toBe(201)
  const answer = async () =>
    (await ask('GET', `${stack.webhooksUrl}/v1/webhooks`, { token: made.body.token })).status
  expect(await answer()).toBe(200)
  return { id: user.id, jwt, answer }
}

const admin = (method: string, id: string, body?: unknown) =>
  ask(method, `${stack.authUrl}/admin/users/${id}`, { token: stack.adminToken, body })
const ban = (id: string, duration: string) => admin('PUT', id, { ban_duration: duration })
const until = (status: number, { answer }: { answer: () => Promise<number> }) =>
  waitFor(async () => (await answer()) === status, { describe: `answer ${status}` })
const isKnown = (id: string) =>
  waitFor(async () => {
    const { rows } = await db.query('select from account_states where account_id = $1', [id])
    return rows.length === 1
  })
const notice = (accountId: string) =>
  ask('POST', `${stack.internalUrl}/internal/v1/summary-ready`, {
    token: stack.internalToken,
    body: aNotice(accountId),
  })

/** Several browsers of one person, each signed in to the portal through the sign-in page. */
async function aPersonAtThePortal(count: number) {
  const { email: identifier, password } = await Person.signUp(stack.authUrl)
  const browsers = Array.from({ length: count }, () => new FormBrowser(stack.webhooksUrl))
  for (const browser of browsers) {
    const page = await browser.settle(await browser.get('/sign-in?return_to=/portal'))
    const portal = await browser.settle(await browser.submit(page, '/ui/sign-in', { identifier, password }))
    expect([portal.status, new URL(portal.url).pathname]).toEqual([200, '/portal'])
  }
  return browsers
}

/** The page at which the browser arrives when it opens the portal. */
const portalOf = async (browser: FormBrowser) => (await browser.settle(await browser.get('/portal'))).text
const isAtThePortal = async (browser: FormBrowser) => (await browser.get('/portal')).status === 200
const untilSignedOut = (browser: FormBrowser) =>
  waitFor(async () => (await portalOf(browser)).includes('name="password"'), { describe: 'sign-in page' })

describe('identity server and webhooks API', () => {
  it('agree on who is banned, freed, signed out everywhere and deleted', async () => {
    const [banned, signedOut, deleted] = [await aPerson(), await aPerson(), await aPerson()]
    await ban(banned.id, '24h')
    await ask('POST', `${stack.authUrl}/logout?scope=global`, { token: signedOut.jwt })
    await notice(deleted.id)
    await admin('DELETE', deleted.id)
    await Promise.all([banned, signedOut, deleted].map((person) => until(401, person)))
    await ban(banned.id, 'none')
    await until(200, banned)
    expect([await signedOut.answer(), await deleted.answer()]).toEqual([401, 401])
    expect((await notice(deleted.id)).status).toBe(410)
    await waitFor(async () =>
      Object.values(await countAccountRows(db, deleted.id)).every((rows) => rows === 0),
    )
  })

  it('agree on which browsers of a person are signed out', async () => {
    const [third, other, own] = (await aPersonAtThePortal(3)) as [FormBrowser, FormBrowser, FormBrowser]
    const account = () => own.get(`${stack.authUrl}/ui/account`)
    // Ends the first listed session, the one used last: that of the browser that signed in before this one.
    await own.submit(await account(), '/ui/account/session/end')
    await untilSignedOut(other)
    expect(await isAtThePortal(third)).toBe(true)
    await own.submit(await account(), '/ui/account/sessions/end')
    await untilSignedOut(third)
    expect(await isAtThePortal(own)).toBe(true)
  })

  it('agree after the identity server was killed with something to tell', async () => {
    const person = await aPerson()
    await stack.kill('webhooks')
    await ban(person.id, '24h')
    await stack.kill('auth')
    await stack.restart('webhooks')
    expect(await person.answer()).toBe(200)
    await stack.restart('auth')
    await until(401, person)
  })

  it('agree after the webhooks API was down, no matter what was decided meanwhile', async () => {
    const [banned, freed, deleted] = [await aPerson(), await aPerson(), await aPerson()]
    await ban(freed.id, '24h')
    await until(401, freed)
    await stack.kill('webhooks')
    await ban(banned.id, '24h')
    await ban(freed.id, 'none')
    await admin('DELETE', deleted.id)
    await stack.restart('webhooks')
    await Promise.all([until(401, banned), until(200, freed), until(401, deleted)])
    await isKnown(deleted.id)
    expect((await notice(deleted.id)).status).toBe(410)
  })
})

it('refuses account events that are not signed with the secret', async () => {
  const person = await aPerson()
  const body = {
    type: 'user.deleted',
    timestamp: new Date().toISOString(),
    data: { user_id: person.id },
  }
  expect((await ask('POST', `${stack.internalUrl}/internal/v1/account-events`, { body })).status).toBe(401)
  expect(await person.answer()).toBe(200)
})
