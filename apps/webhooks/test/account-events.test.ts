import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { startHarness } from './support/harness.js'
import { useOAuth } from './support/use-oauth.js'

const KEY = randomBytes(32)
const OLD_KEY = randomBytes(24)
const secretOf = (key: Buffer) => `whsec_${key.toString('base64')}`

const { harness, oauth } = useOAuth({
  env: { WEBHOOKS_IDENTITY_EVENTS_SECRETS: `${secretOf(KEY)}, ${secretOf(OLD_KEY)}` },
})

type Sending = { key?: Buffer; signedAt?: number; id?: string; raw?: string }

/** Tells the service as the identity server does. */
async function tell(
  event: object,
  { key = KEY, signedAt = Date.now() / 1000, id = randomUUID(), raw }: Sending = {},
) {
  const body = raw ?? JSON.stringify(event)
  const timestamp = String(Math.floor(signedAt))
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const response = await fetch(`${harness.internal}/internal/v1/account-events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${mac}`,
    },
    body,
  })
  await response.arrayBuffer()
  return response.status
}

const at = (ms: number) => new Date(Date.now() + ms).toISOString()
const HOUR = 3_600_000
const banned = (user: { id: string }, decidedAt = at(0), until = at(HOUR)) => ({
  type: 'user.banned',
  timestamp: decidedAt,
  data: { user_id: user.id, banned_until: until },
})
const plain = (type: string, user: { id: string }, decidedAt = at(0)) => ({
  type,
  timestamp: decidedAt,
  data: { user_id: user.id },
})

const create = (jwt: string) =>
  oauth.json<{ token: string }>('/account/tokens', {
    method: 'POST',
    headers: { authorization: `Bearer ${jwt}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'cli' }),
  })

/** A person with everything that gives power here, and what each of it answers. */
async function aPerson() {
  const user = harness.identity.addUser()
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
  it('takes all power from who is banned, at once, and gives it back', async () => {
    const person = await aPerson()
    expect(await person.answers()).toEqual(POWER)
    expect(await tell(banned(person.user))).toBe(204)
    expect(await person.answers()).toEqual(NONE)
    expect(await tell(plain('user.unbanned', person.user))).toBe(204)
    // The failed sign-in left the browser with an anonymous session.
    expect(await person.answers()).toEqual({ ...POWER, browser: 'signed out' })
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
    // As the dispatcher holds it.
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

  it('is no sign-out of what came later, when it is told late', async () => {
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

  it('is stored for an account that nobody here has heard of', async () => {
    const user = harness.identity.addUser()
    await tell(plain('user.deleted', user))
    expect((await create(harness.identity.jwtFor(user))).status).toBe(401)
  })
})

describe('the receiver of account events', () => {
  it('accepts either of two secrets, and repeats do no harm', async () => {
    const user = harness.identity.addUser()
    const id = randomUUID()
    expect(await tell(banned(user), { key: OLD_KEY, id })).toBe(204)
    expect(await tell(banned(user), { key: OLD_KEY, id })).toBe(204)
  })

  it.each<[string, Sending]>([
    ['another secret', { key: Buffer.alloc(32, 1) }],
    ['a signature of ten minutes ago', { signedAt: Date.now() / 1000 - 600 }],
    ['a signature of ten minutes ahead', { signedAt: Date.now() / 1000 + 600 }],
  ])('refuses %s', async (_name, sending) => {
    const user = harness.identity.addUser()
    const personal = (await create(harness.identity.jwtFor(user))).body.token
    expect(await tell(banned(user), sending)).toBe(401)
    expect(await oauth.works(personal)).toBe(true)
  })

  it('refuses a request without a signature, also where no secret is set', async () => {
    const post = ({ internal }: { internal: string }) =>
      fetch(`${internal}/internal/v1/account-events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(banned({ id: randomUUID() })),
      })
    expect((await post(harness)).status).toBe(401)
    const bare = await startHarness()
    try {
      expect((await post(bare)).status).toBe(401)
    } finally {
      await bare.close()
    }
  })

  it('is not on the public listener', async () => {
    const response = await fetch(`${harness.base}/internal/v1/account-events`, { method: 'POST' })
    expect(response.status).toBe(404)
  })

  const signedOut = (timestamp: string) =>
    JSON.stringify({
      type: 'user.signed_out',
      timestamp,
      data: { user_id: '5f0c8a4e-3d3b-4c55-9a55-0a5d3c9d7e10' },
    })

  // Times that JavaScript reads as others, and PostgreSQL not at all.
  it.each([
    ...['', '[]', '{}', '{"type":"user.banned","timestamp":"yesterday","data":{}}'],
    ...['2026-02-31T00:00:00Z', '2026-02-28T24:00:00Z', '0000-01-01T00:00:00Z'].map(signedOut),
  ])('answers 400 to %p, well signed', async (raw) => {
    expect(await tell({}, { raw })).toBe(400)
  })

  it('refuses a ban without an end, and takes events of a later version without a word', async () => {
    const user = harness.identity.addUser()
    expect(await tell(plain('user.banned', user))).toBe(400)
    expect(await tell(plain('user.renamed', user))).toBe(204)
  })
})
