import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import type { EventId } from '@signet/webhook-core'
import {
  writeTombstone,
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
} from '@signet/webhook-core/stores'
import { useOperator } from './support/operator.js'

const operator = useOperator()

it('counts what every table has of an account, and ends with 0 only when nothing is left', async () => {
  const { db } = operator.dispatcher
  const { subscriber } = await operator.failed('/account', 2)
  const { accountId } = subscriber
  const before = await operator.run('account', accountId.toUpperCase(), '--json')
  expect(before.code).toBe(1)
  expect(JSON.parse(before.out)).toMatchObject({
    account_id: accountId,
    state: null,
    rows: {
      webhook_endpoints: 1,
      webhook_events: 2,
      webhook_deliveries: 2,
      webhook_attempts: 4,
      recordings: 2,
      summaries: 2,
      personal_tokens: 0,
    },
  })
  await db.transaction((tx) => writeTombstone(tx, accountId, new Date()))
  await closeAccount(db, accountId)
  const during = await operator.run('account', accountId)
  expect([during.code, during.out]).toEqual([1, expect.stringMatching(/being removed[^]*Rows left: \d+/)])
  while ((await deleteAccountEvents(db, accountId, 1)) > 0);
  await deleteAccountEndpoints(db, accountId)
  const after = await operator.run('account', accountId)
  expect([after.code, after.out]).toEqual([0, expect.stringContaining('Nothing of it is left.')])
})

it('knows every table: those that name accounts, those that belong to them, and those that are nobody’s', async () => {
  const { out } = await operator.run('account', randomUUID(), '--json')
  const { rows: counted } = JSON.parse(out) as { rows: Record<string, number> }
  const { rows: tables } = await operator.dispatcher.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = current_schema() and table_type = 'BASE TABLE'`,
  )
  const uncounted = tables.map(({ name }) => name).filter((name) => !(name in counted))
  expect(uncounted.sort()).toEqual([
    'account_states',
    'ended_identity_sessions',
    'migrations',
    'oauth_clients',
    'operator_actions',
  ])
})

it('leaves no row behind of an event whose dispatch was under way', async () => {
  const { db } = operator.dispatcher
  const subscriber = operator.dispatcher.subscriber().withoutQueues()
  const eventId: EventId = await subscriber.summary()
  const { accountId } = subscriber
  await db.transaction((tx) => writeTombstone(tx, accountId, new Date()))
  const { deleted } = await db.transaction(async (tx) => {
    await tx.query('select from webhook_events where id = $1 for update', [eventId])
    const deleted = deleteAccountEvents(db, accountId, 10)
    return Promise.resolve({ deleted })
  })
  expect(await deleted).toBe(1)
})

it('wants a UUID', async () => {
  expect(await operator.run('account', 'ada')).toMatchObject({ code: 2 })
  expect(await operator.run('account')).toMatchObject({ code: 2 })
})
