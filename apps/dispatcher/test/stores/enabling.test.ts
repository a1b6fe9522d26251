import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { behindLock, endpointState, later, NOW } from '@signet/webhook-testkit'
import { enableEndpoint, findEndpoint, type Endpoint } from '@signet/webhook-core/stores'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { attemptsIn, first } from '../support/attempts.js'
import { aResult, pendingDeliveries, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()
const { record, setFailures, withDeliveries } = attemptsIn(database)

const enable = ({ accountId, id }: Endpoint) => enableEndpoint(database.db, accountId, id)
const found = ({ accountId, id }: Endpoint) => findEndpoint(database.db, accountId, id)

describe('what an endpoint says about its failures', () => {
  it('since when: the first failure after the last success, also within one batch', async () => {
    const { endpoint, deliveries } = await withDeliveries(5)
    const [a, b, c, d, e] = deliveries as [
      TestDelivery,
      TestDelivery,
      TestDelivery,
      TestDelivery,
      TestDelivery,
    ]
    await record(aResult(a, retry(), { finishedAt: later(1000) }))
    await record(aResult(b, retry(), { finishedAt: later(2000) }))
    expect((await found(endpoint))?.failingSince).toEqual(later(1000))
    await record(
      aResult(c, { kind: 'delivered' }, { finishedAt: later(3000) }),
      aResult(d, retry(), { finishedAt: later(4000) }),
    )
    expect(await found(endpoint)).toMatchObject({ consecutiveFailures: 1, failingSince: later(4000) })
    await record(aResult(e, { kind: 'delivered' }))
    expect(await found(endpoint)).toMatchObject({ consecutiveFailures: 0, failingSince: null })
  })

  it('why it was disabled: the failure that reached the limit, and not those after it', async () => {
    const { endpoint, deliveries } = await withDeliveries(3)
    await setFailures(endpoint, 18)
    const [a, b, c] = deliveries as [TestDelivery, TestDelivery, TestDelivery]
    await record(aResult(a, retry('http_500')), aResult(b, retry('timeout')), aResult(c, retry('tls_error')))
    expect(await found(endpoint)).toMatchObject({ status: 2, disabledReason: 'timeout' })
    expect(await found(endpoint)).toMatchObject({ disabledAt: expect.any(Date) as unknown })
  })
})

describe('enableEndpoint', () => {
  const aboutToEnd = async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    await setFailures(endpoint, 19)
    return { endpoint, last: aResult(first(deliveries), retry()) }
  }

  it('wins against the result that disables, whichever comes first', async () => {
    const { db } = database
    const earlier = await aboutToEnd()
    await behindLock(
      db,
      (tx) => enableEndpoint(tx, earlier.endpoint.accountId, earlier.endpoint.id),
      1,
      () => record(earlier.last),
    )
    const later = await aboutToEnd()
    await behindLock(
      db,
      (tx) => recordAttempts(tx, [later.last]),
      1,
      () => enable(later.endpoint),
    )
    for (const { endpoint } of [earlier, later])
      expect(await endpointState(db, endpoint.id)).toMatchObject({ status: 1, consecutive_failures: 0 })
  })

  it('forgets the failures of attempts that began before, and counts those that begin after', async () => {
    const { endpoint, deliveries } = await withDeliveries(2)
    const [before, after] = deliveries as [TestDelivery, TestDelivery]
    const enabled = await enable(endpoint)
    await record(aResult(before, retry()))
    expect(await found(endpoint)).toMatchObject({ consecutiveFailures: 0, failingSince: null })
    await record(aResult(after, retry(), { urlVersion: enabled?.urlVersion ?? 0 }))
    expect(await found(endpoint)).toMatchObject({ consecutiveFailures: 1, failingSince: later(40) })
  })

  it('lets what is in flight from before record its success', async () => {
    const { endpoint, last } = await aboutToEnd()
    const [extra] = await pendingDeliveries(database.db, endpoint, 1)
    await record(last)
    await enable(endpoint)
    await record(aResult(extra as TestDelivery, { kind: 'delivered' }, { finishedAt: NOW }))
    expect(await endpointState(database.db, endpoint.id)).toMatchObject({
      status: 1,
      consecutive_failures: 0,
    })
  })
})
