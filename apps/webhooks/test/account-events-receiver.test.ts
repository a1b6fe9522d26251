import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { startHarness } from './support/harness.js'
import { banned, plain, secretOf, teller, type Sending } from './support/account-events.js'
import type { User } from './support/identity-double.js'
import { useOAuth } from './support/use-oauth.js'

const KEY = randomBytes(32)
const OLD_KEY = randomBytes(24)

const { harness, oauth } = useOAuth({
  env: { WEBHOOKS_IDENTITY_EVENTS_SECRETS: `${secretOf(KEY)}, ${secretOf(OLD_KEY)}` },
})
const tell = teller(harness, KEY)
const personalToken = async (user: User) => {
  const made = await oauth.json<{ token: string }>('/account/tokens', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${harness.identity.jwtFor(user)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name: 'cli' }),
  })
  return made.body.token
}

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
    const personal = await personalToken(user)
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

  // Includes times that JavaScript reads as other times, and that PostgreSQL refuses.
  it.each([
    ...['', '[]', '{}', '{"type":"user.banned","timestamp":"yesterday","data":{}}'],
    ...['2026-02-31T00:00:00Z', '2026-02-28T24:00:00Z', '0000-01-01T00:00:00Z'].map(signedOut),
  ])('answers 400 to %p, well signed', async (raw) => {
    expect(await tell({}, { raw })).toBe(400)
  })

  it('refuses a ban without an end and ended sessions without names, and takes events of a later version without a word', async () => {
    const user = harness.identity.addUser()
    expect(await tell(plain('user.banned', user))).toBe(400)
    expect(await tell(plain('user.sessions_ended', user))).toBe(400)
    expect(await tell(plain('user.renamed', user))).toBe(204)
  })
})
