import { expect, it } from '@jest/globals'
import { behindLock } from '@signet/webhook-testkit'
import { aPersonalToken, aToken } from './support/access-token.js'
import { withLosableLock } from './support/lose-lock.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const count = async (sql: string, ...values: unknown[]) =>
  (await harness.db.query<{ count: number }>(`select count(*)::integer as count from ${sql}`, values)).rows[0]
    ?.count

it('removes what expired within hours, and nothing that lives', async () => {
  const { tokens } = await oauth.connect(harness.identity.addUser())
  const client = await oauth.client()
  const unused = await oauth.authorize(client, harness.identity.addUser())
  const past = `created_at = now() - interval '2 days', expires_at = now() - interval '1 day'`
  await harness.db.query(`update oauth_codes set ${past} where used_at is null`)
  await harness.db.query(`update oauth_authorizations set ${past} where decided_at is not null`)
  await harness.ctx.cleanup.runHourly()
  expect(await count('oauth_codes where used_at is null')).toBe(0)
  expect(await count('oauth_codes where used_at is not null')).toBe(1)
  expect(await count('oauth_authorizations')).toBe(0)
  expect((await oauth.exchange(client, unused)).status).toBe(400)
  expect(await oauth.works(tokens.access_token)).toBe(true)
  await harness.db.query(`update oauth_access_tokens set ${past}`)
  await harness.db.query(`update login_sessions set last_seen_at = now() - interval '2 hours'`)
  await harness.ctx.cleanup.runHourly()
  expect(await count('oauth_access_tokens')).toBe(0)
  expect(await count('login_sessions')).toBe(0)
})

it('removes grants that are dead, and clients that never completed an authorization, after their time', async () => {
  const user = harness.identity.addUser()
  const { client, tokens } = await oauth.connect(user)
  const abandoned = await oauth.client()
  const recent = await oauth.client()
  await harness.db.query(
    `update oauth_clients set created_at = now() - interval '91 days' where client_id = any ($1)`,
    [[client.client_id, abandoned.client_id]],
  )
  await harness.db.query(
    `update oauth_grants set created_at = now() - interval '31 days' where account_id = $1`,
    [user.id],
  )
  await harness.ctx.cleanup.runDaily()
  expect(await count('oauth_clients where client_id = $1', abandoned.client_id)).toBe(0)
  expect(
    await count('oauth_clients where client_id = any ($1)', [client.client_id, recent.client_id, 'svcl_cli']),
  ).toBe(3)
  expect((await oauth.refresh(client, tokens.refresh_token)).status).toBe(200)
  await harness.ctx.accounts.signOut(user.id, new Date(), 'test', { requestId: 'test' })
  await harness.ctx.cleanup.runDaily()
  expect(await count('oauth_grants where account_id = $1', user.id)).toBe(1)
  await harness.db.query(
    `update oauth_grants set revoked_at = now() - interval '31 days' where account_id = $1`,
    [user.id],
  )
  await harness.ctx.cleanup.runDaily()
  expect(await count('oauth_grants where account_id = $1', user.id)).toBe(0)
})

it('keeps a sign-out for as long as a credential would work without it', async () => {
  const refused: string[] = []
  for (const derive of ['personal_tokens', 'oauth_grants', null]) {
    const { id } = harness.identity.addUser()
    await harness.ctx.accounts.signOut(id, new Date(), 'test', { requestId: 'test' })
    await harness.db.query(
      `update account_states set signed_out_at = now() - interval '31 days' where account_id = $1`,
      [id],
    )
    if (derive === 'personal_tokens') await aPersonalToken(harness.db, id)
    if (derive === 'oauth_grants') await aToken(harness.db, id)
    if (derive === null) continue
    // As if a process that did not know of the sign-out had created the credential just before it.
    await harness.db.query(
      `update ${derive} set authenticated_at = now() - interval '32 days' where account_id = $1`,
      [id],
    )
    refused.push(id)
  }
  await harness.ctx.cleanup.runDaily()
  const { rows } = await harness.db.query<{ account_id: string }>(
    `select account_id from account_states where signed_out_at < now() - interval '30 days'`,
  )
  expect(rows.map(({ account_id }) => account_id).sort()).toEqual(refused.sort())
})

it('forgets which sessions ended at the identity server once no browser session can go back to them', async () => {
  const { rows } = await harness.db.query<{ id: string }>(
    `insert into ended_identity_sessions (id, ended_at)
     values (gen_random_uuid(), now() - interval '25 hours'), (gen_random_uuid(), now() - interval '13 hours')
     returning id`,
  )
  await harness.ctx.cleanup.runHourly()
  const left = await harness.db.query<{ id: string }>('select id from ended_identity_sessions')
  expect(left.rows).toEqual(rows.slice(1))
})

it('runs on one instance at a time', async () => {
  const other = harness.db.connection(async (connection) => {
    await connection.query(`select pg_advisory_lock(hashtextextended('clean-up-hourly', 0))`)
    const before = harness.logLines.length
    await harness.ctx.cleanup.runHourly()
    expect(harness.logLines.slice(before).join('')).not.toContain('expired rows removed')
    await connection.query(`select pg_advisory_unlock(hashtextextended('clean-up-hourly', 0))`)
  })
  await other
  await harness.ctx.cleanup.runHourly()
  expect(harness.logLines.at(-1)).toContain('expired rows removed')
})

it('leaves the rest for the next time when it is told to stop', async () => {
  await oauth.connect(harness.identity.addUser())
  await harness.db.query(
    `update oauth_access_tokens set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'`,
  )
  const expired = await count('oauth_access_tokens where expires_at < now()')
  expect(expired).toBeGreaterThan(0)
  await harness.ctx.cleanup.runHourly(AbortSignal.abort())
  expect(await count('oauth_access_tokens where expires_at < now()')).toBe(expired)
  await harness.ctx.cleanup.runHourly()
  expect(await count('oauth_access_tokens where expires_at < now()')).toBe(0)
})

it('begins no statement after it lost its lock to another process', async () => {
  await oauth.connect(harness.identity.addUser())
  await harness.db.query(
    `update oauth_authorizations set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'`,
  )
  const expired = () => count('oauth_authorizations where expires_at < now()')
  const before = await expired()
  expect(before).toBeGreaterThan(0)
  const cleaning = withLosableLock(harness.db, 'clean-up-hourly', (lose) =>
    behindLock(
      harness.db,
      (tx) => tx.query('lock table oauth_codes in exclusive mode'),
      1,
      () => harness.ctx.cleanup.runHourly(),
      lose,
    ),
  )
  await expect(cleaning).rejects.toThrow()
  expect(await expired()).toBe(before)
  await harness.ctx.cleanup.runHourly()
  expect(await expired()).toBe(0)
})
