import { expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint } from '@signet/webhook-testkit'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { aResult, openDeliveries } from '../support/deliveries.js'

const database = useWebhooksDatabase()

// Nearly every delivery goes this way. Its one update must not touch the six indexes of its table, nor must the update of the
// endpoint's count touch those of the endpoint's table.
it('the success of a first attempt changes no index', async () => {
  const { db } = database
  const endpoint = await anEndpoint(db)
  const deliveries = await openDeliveries(db, endpoint, 5)
  const updates = await db.transaction(async (tx) => {
    await recordAttempts(
      tx,
      deliveries.map((delivery) => aResult(delivery, { kind: 'delivered' })),
    )
    const { rows } = await tx.query<{ relname: string; n_tup_upd: string; n_tup_hot_upd: string }>(
      `select relname, n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables
       where relname in ('webhook_deliveries', 'webhook_endpoints') order by relname`,
    )
    return rows
  })
  expect(updates).toEqual([
    { relname: 'webhook_deliveries', n_tup_upd: '5', n_tup_hot_upd: '5' },
    { relname: 'webhook_endpoints', n_tup_upd: '1', n_tup_hot_upd: '1' },
  ])
})
