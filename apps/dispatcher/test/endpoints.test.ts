import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { EndpointId } from '@signet/webhook-core'
import { deleteEndpoint, patchEndpoint, purgeRecording } from '@signet/webhook-core/stores'
import { dispatchEvent, deliveriesOf, type DeliveryRow } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import { startStepwise, type Stepwise } from './support/stepwise.js'
import type { Subscriber } from './support/subscriber.js'

const RETRY_DELAYS_SECONDS = [60, 300, 900, 900, 900]

describe('endpoints that fail, change or go', () => {
  let receiver: Receiver
  let dispatcher: Stepwise
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startStepwise({
      env: {
        DISPATCHER_ENDPOINT_CONCURRENCY: '100',
        // One account may use about a sixth of this for attempts to endpoints that were not measured yet.
        DISPATCHER_CONCURRENCY: '400',
        DISPATCHER_RETRY_DELAYS_SECONDS: RETRY_DELAYS_SECONDS.join(','),
      },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  const endpointRow = async (id: EndpointId) => {
    const { rows } = await dispatcher.db.query<{
      status: number
      consecutive_failures: number
      updated_at: Date
    }>('select status, consecutive_failures, updated_at from webhook_endpoints where id = $1', [id])
    return rows[0]
  }

  async function many(subscriber: Subscriber, count: number): Promise<DeliveryRow[]> {
    const rows: DeliveryRow[] = []
    for (let i = 0; i < count; i += 1) rows.push(...(await dispatcher.dispatched(subscriber)))
    return rows
  }

  async function failing(
    path: string,
    count: number,
    answers = Array.from({ length: count }, () => reply(500)),
  ) {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url(path))
    receiver.hook(path, { answers })
    return { subscriber, endpoint, rows: await many(subscriber, count) }
  }

  it('counts every one of 19 simultaneous failures, and a success sets the count back', async () => {
    const { endpoint, rows, subscriber } = await failing('/nineteen', 19)
    await dispatcher.attempt(...rows)
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 1, consecutive_failures: 19 })
    await dispatcher.attempt(...(await many(subscriber, 1)))
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 1, consecutive_failures: 0 })
  })

  it('disables an endpoint at its 20th failure in a row and cancels all its other deliveries', async () => {
    const { endpoint, rows, subscriber } = await failing('/twenty', 30)
    await dispatcher.attempt(...rows.slice(0, 20))
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 2, consecutive_failures: 20 })
    const after = await deliveriesOf(dispatcher.db, subscriber.accountId)
    expect(after.every(({ status }) => status === 2)).toBe(true)
    expect(after.filter(({ last_error }) => last_error === 'http_500')).toHaveLength(1)
    expect(after.filter(({ last_error }) => last_error === 'endpoint_disabled')).toHaveLength(29)
    expect(receiver.deliveries({ path: '/twenty' })).toHaveLength(20)
    await dispatcher.attempt(...rows)
    expect(receiver.deliveries({ path: '/twenty' })).toHaveLength(20)
  })

  it('ends like the worked example: four events, 500 always, disabled in the fifth round', async () => {
    const { endpoint, rows } = await failing(
      '/worked',
      4,
      Array.from({ length: 20 }, () => reply(500)),
    )
    for (const seconds of [0, ...RETRY_DELAYS_SECONDS.slice(0, 4)]) {
      dispatcher.clock.advance(seconds * 1000)
      await dispatcher.attempt(...rows)
    }
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 2, consecutive_failures: 20 })
    const after = await Promise.all(rows.map(({ id }) => dispatcher.row(id)))
    expect(after.map(({ status, attempts }) => [status, attempts])).toEqual(
      Array.from({ length: 4 }, () => [2, 5]),
    )
    expect(after.map(({ last_error }) => last_error).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'endpoint_disabled'),
      'http_500',
    ])
  })

  it('records a success that arrives after the endpoint was disabled, without enabling it', async () => {
    const disabled = gate()
    const { endpoint, rows } = await failing('/late', 21, [
      reply(200, { after: disabled.opened }),
      ...Array.from({ length: 20 }, () => reply(500)),
    ])
    const [late, ...others] = rows
    if (!late) throw new Error('no delivery')
    const inFlight = dispatcher.attempt(late)
    await receiver.waitForDelivery({ path: '/late' })
    await dispatcher.attempt(...others)
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 2 })
    disabled.open()
    await inFlight
    expect(await dispatcher.row(late.id)).toMatchObject({ status: 1, attempts: 1 })
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 2, consecutive_failures: 0 })
  })

  it('does not hold failures of an older url against the new one', async () => {
    const change = gate()
    const { endpoint, subscriber, rows } = await failing('/old-url', 1, [
      reply(500, { after: change.opened }),
    ])
    const inFlight = dispatcher.attempt(...rows)
    await receiver.waitForDelivery({ path: '/old-url' })
    const url = receiver.url('/new-url')
    await patchEndpoint(dispatcher.db, subscriber.accountId, endpoint.id, {
      url: { url, href: url },
      events: ['summary.completed'],
    })
    change.open()
    await inFlight
    expect(await endpointRow(endpoint.id)).toMatchObject({ status: 1, consecutive_failures: 0 })
    dispatcher.clock.advance(60_000)
    await dispatcher.attempt(...rows)
    expect(receiver.deliveries({ path: '/new-url' })).toHaveLength(1)
  })

  it('moves updated_at forward with every attempt', async () => {
    const { endpoint, rows } = await failing('/touched', 1)
    const before = await endpointRow(endpoint.id)
    await dispatcher.attempt(...rows)
    const after = await endpointRow(endpoint.id)
    expect(after?.updated_at.getTime()).toBeGreaterThan(before?.updated_at.getTime() ?? Infinity)
  })

  it('sends nothing to a deleted endpoint', async () => {
    const { endpoint, subscriber, rows } = await failing('/deleted', 2)
    await deleteEndpoint(dispatcher.db, subscriber.accountId, endpoint.id)
    await dispatcher.attempt(...rows)
    expect(receiver.deliveries({ path: '/deleted' })).toEqual([])
    const after = await Promise.all(rows.map(({ id }) => dispatcher.row(id)))
    expect(after.map(({ status, attempts, last_error }) => [status, attempts, last_error])).toEqual([
      [2, 0, 'endpoint_deleted'],
      [2, 0, 'endpoint_deleted'],
    ])
  })

  it('ends a delivery that was made in the very moment its endpoint was disabled, without an attempt', async () => {
    const { endpoint, rows } = await failing('/race', 1)
    await dispatcher.db.query('update webhook_endpoints set status = 2, disabled_at = now() where id = $1', [
      endpoint.id,
    ])
    await dispatcher.attempt(...rows)
    expect(receiver.deliveries({ path: '/race' })).toEqual([])
    expect(await dispatcher.row(rows[0]?.id ?? '')).toMatchObject({
      status: 2,
      attempts: 0,
      last_error: 'endpoint_disabled',
    })
  })

  it('sends nothing of a recording that was deleted, not even from its cache', async () => {
    const { subscriber, rows } = await failing('/purged', 1)
    const { rows: events } = await dispatcher.db.query<{ audio_id: string }>(
      'select audio_id from webhook_events where id = $1',
      [rows[0]?.event_id],
    )
    await purgeRecording(dispatcher.db, {
      accountId: subscriber.accountId,
      audioId: events[0]?.audio_id ?? '',
    })
    await dispatcher.attempt(...rows)
    expect(receiver.deliveries({ path: '/purged' })).toEqual([])
    expect(await dispatcher.row(rows[0]?.id ?? '')).toMatchObject({
      status: 2,
      last_error: 'recording_deleted',
    })
  })

  it('makes deliveries only for active endpoints of the account that want the type, and pings its one target', async () => {
    const subscriber = dispatcher.subscriber()
    const wanting = await subscriber.endpoint(receiver.url('/wanting'))
    const silent = await subscriber.endpoint(receiver.url('/silent'), [])
    const disabled = await subscriber.endpoint(receiver.url('/disabled'))
    await dispatcher.db.query('update webhook_endpoints set status = 2, disabled_at = now() where id = $1', [
      disabled.id,
    ])
    await dispatcher.subscriber().endpoint(receiver.url('/stranger'))
    const made = await dispatcher.dispatched(subscriber)
    expect(made.map(({ endpoint_id }) => endpoint_id)).toEqual([wanting.id])
    const ping = await subscriber.ping(silent.id)
    await dispatchEvent(dispatcher, ping)
    const all = await deliveriesOf(dispatcher.db, subscriber.accountId)
    expect(all.filter(({ event_id }) => event_id === ping).map(({ endpoint_id }) => endpoint_id)).toEqual([
      silent.id,
    ])
  })

  it('make one delivery of an event whose job runs several times, in turn or at once', async () => {
    const subscriber = dispatcher.subscriber()
    const { accountId } = subscriber
    await subscriber.endpoint(receiver.url('/twice'))
    const eventId = await subscriber.summary()
    await Promise.all([1, 2, 3].map(() => dispatcher.events.run({ eventId, accountId })))
    await dispatcher.events.run({ eventId, accountId })
    expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toHaveLength(1)
  })
})
