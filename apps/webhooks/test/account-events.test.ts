import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { moveHeldDeliveries, releasedDeliveries } from '@signet/webhook-core/stores'
import { at, banned, HOUR, plain, secretOf, sessionsEnded, teller } from './support/account-events.js'
import type { User } from './support/identity-double.js'
import { useOAuth } from './support/use-oauth.js'

const KEY = randomBytes(32)

const { harness, oauth } = useOAuth({
  env: { WEBHOOKS_IDENTITY_EVENTS_SECRETS: secretOf(KEY) },
})

const tell = teller(harness, KEY)

const create = (jwt: string) =>
  oauth.json<{ token: string }>('/account/tokens', {
    method: 'POST',
    headers: { authorization: `Bearer ${jwt}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'cli' }),
  })

/** A browser that signs in with a session of the identity server. */
async function startSession(user: User, sessionId = user.sessionId) {
  const browser = oauth.browser()
  user.sessionId = sessionId
  await oauth.signIn(browser, await browser.get('/sign-in?return_to=/portal'), user)
  return { sessionId, isOpen: async () => (await browser.get('/portal')).status === 200 }
}

/** A person with every kind of access; `answers` shows whether each kind works. */
async function aPerson(user = harness.identity.addUser()) {
  user.sessionId = randomUUID()
  const jwt = harness.identity.jwtFor(user)
  const { client, grant } = await oauth.authorized(user)
  const tokens = (await oauth.exchange(client, grant)).body
  const personal = (await create(jwt)).body.token
  const status = async (token: string) =>
    (await oauth.json('/v1/webhooks', { headers: { authorization: `Bearer ${token}` } })).status
  let refreshToken = tokens.refresh_token
  return {
    user,
    jwt,
    client,
    answers: async () => ({
      access: await status(tokens.access_token),
      personal: await status(personal),
      refresh: await oauth.refresh(client, refreshToken).then((answer) => {
        if (answer.status === 200) refreshToken = answer.body.refresh_token
        return answer.status
      }),
      jwt: (await create(jwt)).status,
      browser:
        (await grant.browser.get(oauth.authorizeUrl(client.client_id))).location === null
          ? 'signed in'
          : 'signed out',
    }),
  }
}

const POWER = { access: 200, personal: 200, refresh: 200, jwt: 201, browser: 'signed in' }
const NONE = { access: 401, personal: 401, refresh: 401, jwt: 401, browser: 'signed out' }

describe('account events of the identity server', () => {
  it('blocks all access of a banned account immediately, and restores it', async () => {
    const person = await aPerson()
    expect(await person.answers()).toEqual(POWER)
    expect(await tell(banned(person.user))).toBe(204)
    expect(await person.answers()).toEqual(NONE)
    expect(await tell(plain('user.unbanned', person.user))).toBe(204)
    // The failed sign-in left the browser with an anonymous session.
    expect(await person.answers()).toEqual({ ...POWER, browser: 'signed out' })
  })

  it('moves any number of held deliveries, a page at a time', async () => {
    const user = harness.identity.addUser()
    const until = at(HOUR)
    await harness.db.query(
      `with endpoint as (
         insert into webhook_endpoints (account_id, url, url_href, secret_ciphertext, secret_key_id)
         values ($1, 'https://example.com/', 'https://example.com/', '\\x00', 'k1') returning id
       )
       insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
       select endpoint.id, 'evt_' || lpad(n::text, 32, '0'), 'summary.completed', $2
       from endpoint, generate_series(100, 104) n`,
      [user.id, until],
    )
    const held = { accountId: user.id, from: until, to: at(-1000) }
    expect(await harness.db.transaction((tx) => moveHeldDeliveries(tx, held, 2))).toBe(5)
    const pages: number[] = []
    for await (const page of releasedDeliveries(harness.db, { accountId: user.id, dueAt: held.to }, 2))
      pages.push(page.length)
    expect(pages).toEqual([2, 2, 1])
  })

  it('gives held deliveries back to the queue when a ban is lifted, and moves them when it gets another end', async () => {
    const user = harness.identity.addUser()
    const { rows: made } = await harness.db.query<{ id: string }>(
      `with endpoint as (
         insert into webhook_endpoints (account_id, url, url_href, secret_ciphertext, secret_key_id)
         values ($1, 'https://example.com/', 'https://example.com/', '\\x00', 'k1') returning id
       )
       insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
       select id, 'evt_' || lpad('7', 32, '0'), 'summary.completed', now() + interval '5 minutes' from endpoint
       union all
       select id, 'evt_' || lpad('8', 32, '0'), 'summary.completed', now() + interval '5 minutes' from endpoint
       returning id`,
      [user.id],
    )
    const [held, retrying] = made.map(({ id }) => id)
    const dueAt = async (id: string | undefined) => {
      const { rows } = await harness.db.query<{ next_attempt_at: Date }>(
        'select next_attempt_at from webhook_deliveries where id = $1',
        [id],
      )
      return rows[0]?.next_attempt_at ?? new Date(NaN)
    }
    const schedule = await dueAt(retrying)
    await tell(banned(user, at(-3000), at(HOUR)))
    // Holds the delivery as the dispatcher does.
    await harness.db.query(
      `update webhook_deliveries set next_attempt_at = (select banned_until from account_states where account_id = $2)
       where id = $1`,
      [held, user.id],
    )
    const later = at(2 * HOUR)
    await tell(banned(user, at(-2000), later))
    expect([await dueAt(held), await dueAt(retrying)]).toEqual([new Date(later), schedule])
    await tell(plain('user.unbanned', user, at(-1000)))
    expect((await dueAt(held)).getTime()).toBeLessThanOrEqual(Date.now())
    expect(await dueAt(retrying)).toEqual(schedule)
    const jobs = await harness.ctx.queues.deliveries.getJobs(['waiting', 'delayed', 'prioritized'])
    expect(jobs.filter(({ data }) => data.deliveryId === held)).toHaveLength(1)
  })

  it('ends a ban by its time, without another word', async () => {
    const person = await aPerson()
    await tell(banned(person.user, at(0), at(-1)))
    expect(await person.answers()).toEqual(POWER)
  })

  it('ends for good what is older than a sign-out everywhere, and nothing younger', async () => {
    const person = await aPerson()
    await tell(plain('user.signed_out', person.user, at(1000)))
    expect(await person.answers()).toEqual(NONE)
    await tell(plain('user.unbanned', person.user))
    expect(await person.answers()).toEqual(NONE)
    const later = Math.floor(Date.now() / 1000) + 2
    const fresh = harness.identity.jwtFor(person.user, { iat: later, exp: later + 600 })
    const made = await create(fresh)
    expect(made.status).toBe(201)
    expect(await oauth.works(made.body.token)).toBe(true)
  })

  it('signs out the browsers of sessions that ended, and nothing else', async () => {
    const [person, other] = [await aPerson(), await aPerson()]
    const elsewhere = await aPerson(person.user)
    const ended = await startSession(person.user, randomUUID())
    expect(await tell(sessionsEnded(person.user, [ended.sessionId, randomUUID()]))).toBe(204)
    expect(await ended.isOpen()).toBe(false)
    expect(await person.answers()).toEqual(POWER)
    expect(await elsewhere.answers()).toEqual(POWER)
    expect(await other.answers()).toEqual(POWER)
  })

  it('has the person sign in again before an authorization that waits for consent goes on', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const browser = oauth.browser()
    const consent = await oauth.signIn(browser, await browser.get(oauth.authorizeUrl(client.client_id)), user)
    await tell(sessionsEnded(user, [user.sessionId]))
    for (const [action, fields] of [
      ['/decision', { decision: 'approve' }],
      ['/logout', {}],
    ] as const) {
      const page = await browser.follow(await browser.submit(consent, action, fields))
      expect(page.text).toContain('Sign in to continue')
    }
    const { rows } = await harness.db.query('select from oauth_grants where account_id = $1', [user.id])
    expect(rows).toEqual([])
  })

  it('opens nothing with a session that ended before the browser came back', async () => {
    const user = harness.identity.addUser()
    await tell(sessionsEnded(user, [user.sessionId]))
    expect(await (await startSession(user)).isOpen()).toBe(false)
    expect(await (await startSession(user, randomUUID())).isOpen()).toBe(true)
  })

  it('keeps no browser signed in, however its sign-in and the end of its session meet', async () => {
    const user = harness.identity.addUser()
    for (let n = 0; n < 20; n += 1) {
      user.sessionId = randomUUID()
      const [opened] = await Promise.all([startSession(user), tell(sessionsEnded(user, [user.sessionId]))])
      expect(await opened.isOpen()).toBe(false)
    }
  })

  it('leaves nothing to a JWT that was stolen before a sign-out everywhere and used before it was told', async () => {
    const user = harness.identity.addUser()
    const issuedAt = Math.floor(Date.now() / 1000) - 60
    const stolen = harness.identity.jwtFor(user, { iat: issuedAt, exp: issuedAt + 3600 })
    const signedOutAt = at(-30_000)
    const made = await create(stolen)
    expect([made.status, await oauth.works(made.body.token)]).toEqual([201, true])
    await tell(plain('user.signed_out', user, signedOutAt))
    expect(await oauth.works(made.body.token)).toBe(false)
    expect((await create(stolen)).status).toBe(401)
  })

  it('does not sign out what came later, when it is reported late', async () => {
    const person = await aPerson()
    const before = await person.answers()
    await tell(plain('user.signed_out', person.user, at(-HOUR)))
    expect(await person.answers()).toEqual(before)
  })

  it('lets no older sign-out, told late, take back a newer one', async () => {
    const user = harness.identity.addUser()
    const issuedAt = Math.floor(Date.now() / 1000) - 60
    const stolen = harness.identity.jwtFor(user, { iat: issuedAt, exp: issuedAt + 3600 })
    for (const signedOutAt of [at(-30_000), at(-90_000)])
      expect(await tell(plain('user.signed_out', user, signedOutAt))).toBe(204)
    expect((await create(stolen)).status).toBe(401)
  })

  it('takes everything from who is deleted, and what the account has goes', async () => {
    const person = await aPerson()
    const { id: accountId } = person.user
    await harness.db.query(
      `insert into recordings (account_id, audio_id, title) values ($1, 'rec_1', 'Weekly sync')`,
      [accountId],
    )
    expect(await tell(plain('user.deleted', person.user))).toBe(204)
    expect(await person.answers()).toMatchObject({
      access: 401,
      personal: 401,
      jwt: 401,
      browser: 'signed out',
    })
    await waitFor(async () => {
      const { rows } = await harness.db.query(
        'select from account_states where account_id = $1 and purged_at is not null',
        [accountId],
      )
      return rows.length === 1
    })
    expect((await oauth.refresh(person.client, 'svr_unknown')).status).toBe(400)
    await tell(plain('user.unbanned', person.user, at(HOUR)))
    expect(await person.answers()).toMatchObject({ access: 401, personal: 401, jwt: 401 })
    const { rows } = await harness.db.query('select from recordings where account_id = $1', [accountId])
    expect(rows).toEqual([])
  })

  it('comes to the same end in every order, and however often it is repeated', async () => {
    const decided = [at(-3000), at(-2000), at(-1000)] as const
    const orders = [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]
    for (const order of orders) {
      const user = harness.identity.addUser()
      const personal = (await create(harness.identity.jwtFor(user))).body.token
      const events = [
        banned(user, decided[0]),
        plain('user.unbanned', user, decided[1]),
        banned(user, decided[2], at(2 * HOUR)),
      ]
      for (const index of [...order, ...order]) expect(await tell(events[index] ?? {})).toBe(204)
      expect({ order, works: await oauth.works(personal) }).toEqual({ order, works: false })
      for (const index of order.filter((n) => n < 2)) await tell(events[index] ?? {})
      await tell(plain('user.unbanned', user, at(0)))
      await tell(events[2] ?? {})
      expect({ order, works: await oauth.works(personal) }).toEqual({ order, works: true })
    }
  })

  it('is stored for an account that is unknown here', async () => {
    const user = harness.identity.addUser()
    await tell(plain('user.deleted', user))
    expect((await create(harness.identity.jwtFor(user))).status).toBe(401)
  })
})
