import { describe, expect, it } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anAccount, anEndpoint, deliveryState } from '@signet/webhook-testkit'
import { deleteEndpoint, findEndpoint, storeNextSecret } from '@signet/webhook-core/stores'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { aResult, pendingDeliveries, retry } from '../support/deliveries.js'

const database = useWebhooksDatabase()

describe('deleteEndpoint', () => {
  it('erases the secret and cancels what is pending, and what has ended stays as it is', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [done, waiting, fresh] = await pendingDeliveries(db, endpoint, 3)
    if (!done || !waiting || !fresh) throw new Error('three deliveries')
    await recordAttempts(db, [aResult(done, { kind: 'delivered' }), aResult(waiting, retry())])

    const next = { keyId: 'k1', ciphertext: Buffer.from('next') }
    await storeNextSecret(db, endpoint.accountId, endpoint.id, { next, activateAfterHours: 24 })
    expect(await deleteEndpoint(db, anAccount(), endpoint.id)).toBeNull()
    expect(await deleteEndpoint(db, endpoint.accountId, endpoint.id)).toEqual({ cancelledDeliveries: 2 })
    expect(await deleteEndpoint(db, endpoint.accountId, endpoint.id)).toBeNull()

    expect((await deliveryState(db, done.id)).status).toBe(1)
    for (const { id } of [waiting, fresh]) {
      expect(await deliveryState(db, id)).toMatchObject({
        status: 2,
        last_error: 'endpoint_deleted',
        next_attempt_at: null,
      })
    }
    const { rows } = await db.query(
      `select secret_ciphertext, secret_key_id, next_secret_ciphertext from webhook_endpoints where id = $1`,
      [endpoint.id],
    )
    expect(rows).toEqual([{ secret_ciphertext: null, secret_key_id: null, next_secret_ciphertext: null }])
  })

  it('is done also where cancelling fails, which is left to the sweeper', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    await pendingDeliveries(db, endpoint, 1)
    const failure = new Error('cancelled on request')
    const refusing: Queryable = {
      query: (statement, values) =>
        typeof statement === 'string' ? db.query(statement, values) : Promise.reject(failure),
    }
    expect(await deleteEndpoint(refusing, endpoint.accountId, endpoint.id)).toEqual({
      cancelledDeliveries: 0,
      failure,
    })
    expect(await findEndpoint(db, endpoint.accountId, endpoint.id)).toBeNull()
  })
})
