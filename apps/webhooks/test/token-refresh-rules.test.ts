import { describe, expect, it } from '@jest/globals'
import { sha256 } from '../src/credentials/credential.js'
import { lockWaiters, waitFor } from '@signet/testkit'
import { ADMIN_JWT } from './support/identity-double.js'
import type { Answer, TokenAnswer } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

const { harness: strict, oauth } = useOAuth({
  env: {
    WEBHOOKS_OAUTH_REFRESH_REUSE_GRACE_SECONDS: '0',
    WEBHOOKS_OAUTH_GRANT_MAX_DAYS: '10',
    WEBHOOKS_IDENTITY_SERVICE_TOKEN: ADMIN_JWT,
  },
})

/** How long a refresh waits for what the identity server says of the user. */
const USER_STATE_LIMIT_MS = 2000

it('the consent page says after how many days access ends', async () => {
  const { page } = await oauth.consentPage(strict.identity.addUser())
  expect(page.text).toContain('Access lasts 10 days at most')
})

describe('a grace of 0', () => {
  it('treats a replay right after the rotation as theft', async () => {
    const { client, tokens } = await oauth.connect(strict.identity.addUser())
    const newest = (await oauth.refresh(client, tokens.refresh_token)).body
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(400)
    expect(await oauth.works(newest.access_token)).toBe(false)
  })

  it('still lets a request through that found the row locked', async () => {
    const { client, tokens } = await oauth.connect(strict.identity.addUser())
    let refreshing: Promise<Answer<TokenAnswer>> | undefined
    await strict.db.transaction(async (tx) => {
      await tx.query('update oauth_refresh_tokens set rotated_at = clock_timestamp() where token_hash = $1', [
        sha256(tokens.refresh_token),
      ])
      refreshing = oauth.refresh(client, tokens.refresh_token)
      await lockWaiters(strict.db, 1)
    })
    const answer = await refreshing
    expect(answer?.status).toBe(200)
    expect(await oauth.works(answer?.body.access_token ?? '')).toBe(true)
  })

  it('rotates the token itself when the one that held the lock gave up', async () => {
    const { client, tokens } = await oauth.connect(strict.identity.addUser())
    let refreshing: Promise<Answer<TokenAnswer>> | undefined
    await strict.db
      .transaction(async (tx) => {
        await tx.query(
          'update oauth_refresh_tokens set rotated_at = clock_timestamp() where token_hash = $1',
          [sha256(tokens.refresh_token)],
        )
        refreshing = oauth.refresh(client, tokens.refresh_token)
        await lockWaiters(strict.db, 1)
        throw new Error('gave up')
      })
      .catch(() => undefined)
    expect((await refreshing)?.status).toBe(200)
    const { rows } = await strict.db.query<{ rotated: boolean }>(
      'select rotated_at is not null as rotated from oauth_refresh_tokens where token_hash = $1',
      [sha256(tokens.refresh_token)],
    )
    expect(rows).toEqual([{ rotated: true }])
  })

  it('lets a request through that was asked before the rotation, and leaves the time of the rotation alone', async () => {
    const { client, tokens } = await oauth.connect(strict.identity.addUser())
    const asked = strict.identity.asked.length
    strict.identity.failWith({ status: 200, hang: true })
    const refreshing = oauth.refresh(client, tokens.refresh_token)
    // The request has read the token as current and now waits for the identity server, which does not answer.
    await waitFor(() => strict.identity.asked.length > asked)
    strict.identity.failWith(null)
    const rotatedAt = async (statement: string) =>
      (await strict.db.query<{ at: string }>(statement, [sha256(tokens.refresh_token)])).rows[0]?.at
    const at = await rotatedAt(
      'update oauth_refresh_tokens set rotated_at = clock_timestamp() where token_hash = $1 returning rotated_at::text as at',
    )
    strict.timeLimits.pass(USER_STATE_LIMIT_MS)
    expect((await refreshing).status).toBe(200)
    expect(
      await rotatedAt('select rotated_at::text as at from oauth_refresh_tokens where token_hash = $1'),
    ).toBe(at)
  })
})

describe('a cap on the whole grant', () => {
  it('shortens the refresh token and ends refreshing when it is reached', async () => {
    const user = strict.identity.addUser()
    const { client, tokens } = await oauth.connect(user)
    const days = async (token: string) => {
      const { rows } = await strict.db.query<{ days: number }>(
        `select round(extract(epoch from expires_at - now()) / 86400)::integer as days
           from oauth_refresh_tokens where token_hash = $1`,
        [sha256(token)],
      )
      return rows[0]?.days
    }
    expect(await days(tokens.refresh_token)).toBe(10)
    await strict.db.query(
      `update oauth_grants set created_at = now() - interval '4 days' where account_id = $1`,
      [user.id],
    )
    const later = (await oauth.refresh(client, tokens.refresh_token)).body
    expect(await days(later.refresh_token)).toBe(6)
    await strict.db.query(
      `update oauth_grants set created_at = now() - interval '11 days' where account_id = $1`,
      [user.id],
    )
    expect((await oauth.refresh(client, later.refresh_token)).status).toBe(400)
  })
})

describe('with a credential for the identity server', () => {
  it('a refresh of a banned user is refused, and works again when the ban is lifted', async () => {
    const user = strict.identity.addUser()
    const { client, tokens } = await oauth.connect(user)
    user.banned = true
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(401)
    user.banned = false
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(200)
  })

  it('a refresh of a deleted user revokes the grant', async () => {
    const user = strict.identity.addUser()
    const { client, tokens } = await oauth.connect(user)
    user.deleted = true
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(400)
    expect(await oauth.works(tokens.access_token)).toBe(false)
  })

  it('a refresh of a user who is gone revokes the grant', async () => {
    const user = strict.identity.addUser()
    const { client, tokens } = await oauth.connect(user)
    strict.identity.removeUser(user)
    expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(400)
  })

  it.each([{ status: 500 }, { status: 403 }, { status: 404 }, { status: 200, hang: true }])(
    'a failing question (%j) lets the refresh pass and is logged',
    async (failure) => {
      const { client, tokens } = await oauth.connect(strict.identity.addUser())
      const asked = strict.identity.asked.length
      strict.identity.failWith(failure)
      const refreshing = oauth.refresh(client, tokens.refresh_token)
      await waitFor(() => strict.identity.asked.length > asked)
      if (failure.hang) strict.timeLimits.pass(USER_STATE_LIMIT_MS)
      const { status } = await refreshing
      strict.identity.failWith(null)
      expect(status).toBe(200)
      expect(strict.logLines.some((line) => line.includes('identity server call failed'))).toBe(true)
    },
  )
})
