import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { DeliveryId, EndpointId } from '@signet/webhook-core'
import { replayDeliveries } from '../src/operations/replay-store.js'
import { deliveriesOf } from './support/dispatcher.js'
import { useOperator } from './support/operator.js'

const operator = useOperator()

describe('requeue', () => {
  it('sends the event of one delivery again, as a new delivery of the same event, and writes down who and why', async () => {
    const { subscriber, rows } = await operator.failed('/one', 1)
    const [old] = rows
    const { code, out } = await operator.run(
      'requeue',
      old?.id ?? '',
      '--why',
      'receiver was down',
      '--by',
      'grace',
    )
    expect([code, out]).toEqual([0, expect.stringMatching(/^Created delivery \d+\.\n$/)])
    const [before, made] = await waitFor(async () => {
      const found = await deliveriesOf(operator.dispatcher.db, subscriber.accountId)
      return found[1]?.status === 1 && found
    })
    expect(before).toEqual(old)
    expect(made?.event_id).toBe(old?.event_id)
    const sent = operator.receiver.deliveries({ path: '/one' })
    expect(sent.at(-1)?.headers['x-service-delivery']).toBe(made?.id)
    expect(sent.at(-1)?.body).toEqual(sent[0]?.body)
    expect(await operator.actions()).toEqual([
      {
        operator: 'grace',
        action: 'replay',
        detail: {
          reason: 'receiver was down',
          deliveries: [{ id: made?.id, endpoint_id: made?.endpoint_id, event_id: made?.event_id }],
        },
      },
    ])
  })

  it('sends all that failed for an endpoint since a time, and nothing twice when asked again', async () => {
    const { subscriber, endpoint } = await operator.failed('/all', 3)
    const again = () => operator.run('requeue', '--endpoint', endpoint.id, '--since', '1h', '--why', 'outage')
    expect(
      (await operator.run('requeue', '--endpoint', endpoint.id, '--since', '1h', '--dry-run')).out,
    ).toMatch(/^Would send again: 3\n/)
    expect(await deliveriesOf(operator.dispatcher.db, subscriber.accountId)).toHaveLength(3)
    expect(await operator.actions()).toEqual([])
    expect((await again()).out).toMatch(/^Created 3 deliveries/)
    await waitFor(async () => {
      const found = await deliveriesOf(operator.dispatcher.db, subscriber.accountId)
      return found.filter(({ status }) => status === 1).length === 3
    })
    expect(await again()).toMatchObject({ code: 3, out: '' })
    expect(await operator.actions()).toHaveLength(1)
  })

  it('makes one new delivery when many operators ask for it at once, or one after the other', async () => {
    const { subscriber, rows } = await operator.failed('/race', 1)
    const id = rows[0]?.id ?? ''
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        index % 2 === 0
          ? operator.run('requeue', id, '--why', 'race')
          : operator.run(
              'requeue',
              '--endpoint',
              rows[0]?.endpoint_id ?? '',
              '--since',
              '1h',
              '--why',
              'race',
            ),
      ),
    )
    expect(outcomes.map(({ code }) => code).sort()).toEqual([0, 3, 3, 3, 3, 3])
    await waitFor(async () => {
      const found = await deliveriesOf(operator.dispatcher.db, subscriber.accountId)
      return found[1]?.status === 1
    })
    expect(await operator.run('requeue', id, '--why', 'late')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/of the same event is delivered\.\n$/),
    })
    expect(await deliveriesOf(operator.dispatcher.db, subscriber.accountId)).toHaveLength(2)
  })

  it('says why it did nothing', async () => {
    const { rows, endpoint } = await operator.failed('/why', 1)
    const id = rows[0]?.id ?? ''
    expect(await operator.run('requeue', '999999', '--why', 'x')).toMatchObject({
      code: 3,
      err: 'There is no delivery 999999.\n',
    })
    await operator.dispatcher.db.query(
      `update webhook_endpoints set status = 2, disabled_at = now() where id = $1`,
      [endpoint.id],
    )
    expect((await operator.run('requeue', id, '--why', 'x')).err).toMatch(/: its endpoint is disabled since /)
  })

  it('commits what Redis cannot be told, for the sweeper', async () => {
    const { subscriber, rows } = await operator.failed('/no-redis', 1)
    const { code, out } = await operator.withoutRedis(() =>
      operator.run('requeue', rows[0]?.id ?? '', '--why', 'x'),
    )
    expect([code, out]).toEqual([0, expect.stringContaining('Redis could not be updated; the sweeper')])
    expect(await deliveriesOf(operator.dispatcher.db, subscriber.accountId)).toHaveLength(2)
  })

  it('makes one delivery for operators whose statements saw the same tables', async () => {
    const { subscriber, rows } = await operator.failed('/same-view', 1)
    const [row] = rows
    if (!row) throw new Error('no delivery')
    const target = { endpointId: row.endpoint_id as EndpointId, failedSince: new Date(0) }
    const request = { operator: 'ada', reason: 'race', now: new Date(), limit: 10 }
    const made = await Promise.all([
      ...Array.from({ length: 5 }, () => replayDeliveries(operator.dispatcher.db, { ...request, ...target })),
      ...Array.from({ length: 5 }, () =>
        replayDeliveries(operator.dispatcher.db, { ...request, deliveryId: row.id as DeliveryId }),
      ),
    ])
    expect(made.flat()).toHaveLength(1)
    expect(await deliveriesOf(operator.dispatcher.db, subscriber.accountId)).toHaveLength(2)
  })
})
