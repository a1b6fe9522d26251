import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_RETRY_DELAYS_SECONDS, type DeliveryId } from '@signet/webhook-core'
import { patchEndpoint } from '@signet/webhook-core/stores'
import { listAttempts } from '../src/deliveries/attempt-store.js'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { DeliveryRow } from './support/dispatcher.js'
import { jobOf, startStepwise, type Stepwise } from './support/stepwise.js'

const MINUTE_MS = 60_000
const [FIRST_MS = 0, SECOND_MS = 0] = DEFAULT_RETRY_DELAYS_SECONDS.map((seconds) => seconds * 1000)
const MAX_ATTEMPTS = DEFAULT_RETRY_DELAYS_SECONDS.length + 1

describe('the schedule of attempts', () => {
  let receiver: Receiver
  let dispatcher: Stepwise
  let random = 0
  beforeAll(async () => {
    receiver = await startReceiver({ publicHost: 'hook.example.com' })
    dispatcher = await startStepwise({
      ports: {
        ca: receiver.authorityCert,
        random: () => random,
        resolver: (host) =>
          host === 'gone.example.com'
            ? Promise.reject(new Error('NXDOMAIN'))
            : Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
      },
    })
  })
  beforeEach(() => {
    random = 0
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  async function oneDelivery(path: string, host = 'hook.example.com') {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(`https://${host}:${receiver.port}${path}`)
    const [row] = await dispatcher.dispatched(subscriber)
    if (!row) throw new Error('no delivery was made')
    return { row, endpoint, subscriber }
  }

  it('waits as scheduled from the end of each failed attempt, and ends after the last', async () => {
    const attempts = DEFAULT_RETRY_DELAYS_SECONDS.length + 1
    const { row } = await oneDelivery('/always-500')
    receiver.hook('/always-500', { otherwise: reply(500) })
    for (const [index, seconds] of DEFAULT_RETRY_DELAYS_SECONDS.entries()) {
      await dispatcher.attempt(row)
      const after = await dispatcher.row(row.id)
      expect(after).toMatchObject({
        status: 0,
        attempts: index + 1,
        last_error: 'http_500',
        delivered_at: null,
      })
      expect(after.next_attempt_at?.getTime()).toBe(dispatcher.clock.now().getTime() + seconds * 1000)
      dispatcher.clock.set(after.next_attempt_at ?? '')
    }
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({ status: 2, attempts, next_attempt_at: null })
    dispatcher.clock.advance(60 * MINUTE_MS)
    await dispatcher.attempt(row)
    expect(receiver.deliveries({ path: '/always-500' })).toHaveLength(attempts)
  })

  it('adds up to a tenth of the delay, never takes from it', async () => {
    const { row } = await oneDelivery('/jitter')
    receiver.hook('/jitter', { otherwise: reply(500) })
    random = 0.9999
    await dispatcher.attempt(row)
    const waitMs =
      ((await dispatcher.row(row.id)).next_attempt_at?.getTime() ?? 0) - dispatcher.clock.now().getTime()
    expect(waitMs).toBeGreaterThan(1.09 * FIRST_MS)
    expect(waitMs).toBeLessThanOrEqual(1.1 * FIRST_MS)
  })

  it('makes no attempt before its time, however often the job runs', async () => {
    const { row } = await oneDelivery('/early')
    receiver.hook('/early', { answers: [reply(500)] })
    await dispatcher.attempt(row)
    dispatcher.clock.advance(FIRST_MS - 100)
    expect(await dispatcher.attempts.run(jobOf(row), { wasDeferred: false })).toEqual({
      kind: 'defer',
      delayMs: 100,
    })
    expect(await dispatcher.attempts.run(jobOf(row), { losses: 1, wasDeferred: false })).toEqual({
      kind: 'defer',
      delayMs: 100,
    })
    expect(receiver.deliveries({ path: '/early' })).toHaveLength(1)
    dispatcher.clock.advance(100)
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({ status: 1, attempts: 2, last_error: 'http_500' })
  })

  it('counts attempts that ended before any request, and keeps the last failure after the success', async () => {
    const { row, endpoint, subscriber } = await oneDelivery('/dns', 'gone.example.com')
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({ attempts: 1, last_error: 'dns_error' })
    const url = `https://hook.example.com:${receiver.port}/dns`
    await patchEndpoint(dispatcher.db, subscriber.accountId, endpoint.id, {
      url: { url, href: url },
      events: [],
    })
    dispatcher.clock.advance(FIRST_MS)
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({
      status: 1,
      attempts: 2,
      last_error: 'dns_error',
      delivered_at: dispatcher.clock.now(),
    })
  })

  it('signs each retry again over the same bytes, under the same delivery id', async () => {
    dispatcher.clock.set(new Date())
    const { row, endpoint } = await oneDelivery('/resign')
    receiver.hook('/resign', { secret: endpoint.secret, answers: [reply(503)] })
    await dispatcher.attempt(row)
    dispatcher.clock.advance(FIRST_MS)
    await dispatcher.attempt(row)
    const [first, second] = receiver.deliveries({ path: '/resign' })
    expect([first?.verified, second?.verified]).toEqual([true, true])
    expect(second?.body).toEqual(first?.body)
    const header = (name: string) => [first?.headers[name], second?.headers[name]]
    const [deliveryId, sameId] = header('x-service-delivery')
    expect(sameId).toBe(deliveryId)
    const [at, later] = header('x-service-timestamp').map(Number)
    expect((later ?? 0) - (at ?? 0)).toBe(FIRST_MS / 1000)
    expect(new Set(header('x-service-signature')).size).toBe(2)
    expect(second?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1',
      accept: '*/*',
      'content-length': String(second?.body.length),
    })
    expect(second?.headers).not.toHaveProperty('transfer-encoding')
    expect(second?.headers).not.toHaveProperty('accept-encoding')
  })

  it('reports the attempt of a lost worker as interrupted and makes the next one at once', async () => {
    const { row } = await oneDelivery('/lost')
    await dispatcher.attempts.run(jobOf(row), { losses: 1, wasDeferred: false })
    expect(await dispatcher.row(row.id)).toMatchObject({ status: 1, attempts: 2, last_error: 'interrupted' })
    const log = await listAttempts(dispatcher.db, [row.id as DeliveryId])
    expect(log.map(({ number, error }) => [number, error])).toEqual([
      [1, 'interrupted'],
      [2, ''],
    ])
  })

  it('reports a lost worker also where the next one finds no permit and puts the job off', async () => {
    const stopping = await startStepwise()
    const subscriber = stopping.subscriber()
    await subscriber.endpoint(receiver.url('/put-off'))
    const [row] = (await stopping.scheduled(subscriber)) as [DeliveryRow]
    stopping.limiter.close()
    expect(await stopping.attempts.run(jobOf(row), { losses: 1, wasDeferred: false })).toMatchObject({
      kind: 'defer',
    })
    expect(await stopping.row(row.id)).toMatchObject({ status: 0, attempts: 1, last_error: 'interrupted' })
    await stopping.stop()
  })

  it('lets the schedule decide after a second loss, so that dying workers do not spend all tries at once', async () => {
    const { row } = await oneDelivery('/dying')
    await dispatcher.db.query('update webhook_deliveries set attempts = 1 where id = $1', [row.id])
    expect(await dispatcher.attempts.run(jobOf(row), { losses: 2, wasDeferred: false })).toEqual({
      kind: 'retry',
      delayMs: SECOND_MS,
      reason: 'interrupted',
    })
    expect(await dispatcher.row(row.id)).toMatchObject({ status: 0, attempts: 2, last_error: 'interrupted' })
    expect(receiver.deliveries({ path: '/dying' })).toEqual([])
    dispatcher.clock.advance(SECOND_MS)
    await dispatcher.attempts.run(jobOf(row), { wasDeferred: false })
    expect(await dispatcher.row(row.id)).toMatchObject({ status: 1, attempts: 3 })
  })

  it('ends a delivery whose attempts kill their worker every time', async () => {
    const { row, endpoint } = await oneDelivery('/poison')
    await dispatcher.db.query('update webhook_deliveries set attempts = $2 where id = $1', [
      row.id,
      MAX_ATTEMPTS - 1,
    ])
    await dispatcher.attempts.run(jobOf(row), { losses: 1, wasDeferred: false })
    expect(await dispatcher.row(row.id)).toMatchObject({
      status: 2,
      attempts: MAX_ATTEMPTS,
      last_error: 'interrupted',
    })
    expect(receiver.deliveries({ path: '/poison' })).toEqual([])
    const { rows } = await dispatcher.db.query(
      'select consecutive_failures from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(rows).toEqual([{ consecutive_failures: 0 }])
  })

  it('uses up no attempt while the key of a secret is not configured', async () => {
    const { row, endpoint } = await oneDelivery('/key')
    const { rows } = await dispatcher.db.query<{ secret_key_id: string }>(
      'select secret_key_id from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    const setKey = (id: string | undefined) =>
      dispatcher.db.query('update webhook_endpoints set secret_key_id = $2 where id = $1', [endpoint.id, id])
    await setKey('gone')
    await dispatcher.attempt(row)
    expect(receiver.deliveries({ path: '/key' })).toEqual([])
    expect(await dispatcher.row(row.id)).toEqual(row)
    await setKey(rows[0]?.secret_key_id)
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({ status: 1, attempts: 1 })
  })

  it('does not blame the receiver when a secret cannot be opened, and follows the schedule', async () => {
    const { row, endpoint } = await oneDelivery('/secret')
    await dispatcher.db.query(
      `update webhook_endpoints set secret_ciphertext = set_byte(secret_ciphertext, 0, get_byte(secret_ciphertext, 0) # 1)
       where id = $1`,
      [endpoint.id],
    )
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({
      status: 0,
      attempts: 1,
      last_error: 'internal_error',
    })
    const { rows } = await dispatcher.db.query(
      'select consecutive_failures from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(rows).toEqual([{ consecutive_failures: 0 }])
    expect(receiver.deliveries({ path: '/secret' })).toEqual([])
  })
})
