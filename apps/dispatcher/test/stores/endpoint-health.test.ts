import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anAccount, anEndpoint } from '@signet/webhook-testkit'
import { deleteEndpoint, findEndpointHealth, listEndpointHealth } from '@signet/webhook-core/stores'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { aResult, pendingDeliveries } from '../support/deliveries.js'

const database = useWebhooksDatabase()

async function aUsedEndpoint() {
  const { db } = database
  const endpoint = await anEndpoint(db)
  const [delivered] = await pendingDeliveries(db, endpoint, 2)
  if (!delivered) throw new Error('two deliveries')
  await recordAttempts(db, [aResult(delivered, { kind: 'delivered' })])
  return { accountId: endpoint.accountId, endpointId: endpoint.id }
}

describe('the health of an endpoint', () => {
  it('is found by its account only', async () => {
    const { db } = database
    const owner = await aUsedEndpoint()
    expect(await findEndpointHealth(db, owner)).toMatchObject({ delivered: 1, failed: 0, pending: 1 })
    expect(await findEndpointHealth(db, { ...owner, accountId: anAccount() })).toBeNull()
    expect([...(await listEndpointHealth(db, owner.accountId)).keys()]).toEqual([owner.endpointId])
    expect((await listEndpointHealth(db, anAccount())).size).toBe(0)
  })

  it('is found after it was deleted, but no longer listed', async () => {
    const { db } = database
    const owner = await aUsedEndpoint()
    await deleteEndpoint(db, owner.accountId, owner.endpointId)
    expect(await findEndpointHealth(db, owner)).toMatchObject({ delivered: 1, failed: 1, pending: 0 })
    expect((await listEndpointHealth(db, owner.accountId)).size).toBe(0)
  })

  it('is null without a delivery', async () => {
    const { id: endpointId, accountId } = await anEndpoint(database.db)
    expect(await findEndpointHealth(database.db, { accountId, endpointId })).toBeNull()
  })
})
