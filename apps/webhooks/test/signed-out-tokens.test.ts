import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { useOAuth } from './support/use-oauth.js'

const { harness } = useOAuth()
const meta = { requestId: 'test' }
const named = { name: 'laptop' }

const usable = async (accountId: string) =>
  (
    await harness.db.query('select from personal_tokens where account_id = $1 and revoked_at is null', [
      accountId,
    ])
  ).rows.length

it('creates no personal token from a sign-in that was signed out everywhere', async () => {
  const { personalTokens, accounts } = harness.ctx
  const accountId = randomUUID()
  const signedOutAt = new Date()
  await accounts.signOut(accountId, signedOutAt, 'test', meta)
  expect(await personalTokens.create({ accountId, authenticatedAt: signedOutAt }, named, meta)).toBeNull()
  const later = { accountId, authenticatedAt: new Date(signedOutAt.getTime() + 1) }
  expect(await personalTokens.create(later, named, meta)).toMatchObject(named)
  expect(await usable(accountId)).toBe(1)
})

it('ends a personal token that is being created while its owner signs out everywhere', async () => {
  const { personalTokens, accounts, db } = harness.ctx
  const accountId = randomUUID()
  const owner = { accountId, authenticatedAt: new Date() }
  const { creating, signingOut } = await db.transaction(async (tx) => {
    // The transaction that creates the token writes the row, and then waits for this lock.
    await tx.query('select pg_advisory_xact_lock(1, account_lock($1))', [accountId])
    const creating = personalTokens.create(owner, named, meta)
    await lockWaiters(db, 1)
    const signingOut = accounts.signOut(accountId, new Date(), 'test', meta)
    await Promise.race([signingOut, lockWaiters(db, 2)])
    return { creating, signingOut }
  })
  expect(await creating).toMatchObject(named)
  await signingOut
  expect(await usable(accountId)).toBe(0)
})
