import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_RETRY_DELAYS_SECONDS, type DeliveryId, type EventId } from '@signet/webhook-core'
import { deleteEndpoint, purgeRecording } from '@signet/webhook-core/stores'
import { listAttempts } from '../src/deliveries/attempt-store.js'
import { findOpenFirstAttempts } from '../src/dispatching/first-attempt-store.js'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { dispatchEvent, dispatchInRows } from './support/dispatcher.js'
import { startStepwise, type Stepwise } from './support/stepwise.js'
import type { Subscriber } from './support/subscriber.js'

const FIRST_DELAY_MS = (DEFAULT_RETRY_DELAYS_SECONDS[0] ?? 0) * 1000
/** Of an event whose body the dispatcher builds. */
const UNFROZEN = { recording: { title: 'Weekly sync' } }

describe('first attempts, under the job of their event', () => {
  let receiver: Receiver
  let dispatcher: Stepwise
  let subscriber: Subscriber
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startStepwise({
      env: { DISPATCHER_ENDPOINT_CONCURRENCY: '1' },
      ports: { ca: receiver.authorityCert },
    })
  })
  beforeEach(async () => {
    await dispatcher.queues.deliveries.obliterate({ force: true })
    subscriber = dispatcher.subscriber()
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  /** What the event's job does, from the beginning to the end. */
  async function run(eventId?: EventId): Promise<EventId> {
    eventId ??= await subscriber.summary()
    await dispatcher.firstAttempts.run(eventId, await dispatchEvent(dispatcher, eventId))
    await dispatcher.firstAttempts.concluded()
    return eventId
  }

  const rowOf = async (eventId: string) => {
    const { rows } = await dispatcher.db.query<{ id: string }>(
      `select id from webhook_deliveries where event_id = $1`,
      [eventId],
    )
    return dispatcher.row(rows[0]?.id ?? '0')
  }
  const stateOf = async (eventId: string) => {
    const { rows } = await dispatcher.db.query<{ state: string; deliveries: number }>(
      `select state, (select count(*)::integer from webhook_deliveries d where d.event_id = e.id) as deliveries
       from webhook_events e where id = $1`,
      [eventId],
    )
    return rows[0]
  }
  const jobs = () => dispatcher.queues.deliveries.getJobs()
  const isOpen = async (eventId: string) => {
    const before = new Date(dispatcher.clock.now().getTime() + 1)
    const open = await findOpenFirstAttempts(dispatcher.db, { before, limit: 1000 })
    return open.some(({ id }) => id === eventId)
  }

  it('that succeed need no job of their own', async () => {
    await subscriber.endpoint(receiver.url('/good'))
    const eventId = await run()
    expect(await rowOf(eventId)).toMatchObject({ status: 1, attempts: 1, next_attempt_at: null })
    expect(receiver.deliveries({ path: '/good' })).toHaveLength(1)
    expect(await jobs()).toEqual([])
    expect(await isOpen(eventId)).toBe(false)
  })

  it('write the row of a delivery with its result, and make the event dispatched', async () => {
    await subscriber.endpoint(receiver.url('/held'))
    let release = () => {}
    receiver.hook('/held', {
      otherwise: reply(200, { after: new Promise<void>((resolve) => (release = resolve)) }),
    })
    const eventId = await subscriber.summary()
    const dispatched = await dispatchEvent(dispatcher, eventId)
    expect(await stateOf(eventId)).toEqual({ state: 'queued', deliveries: 0 })
    const running = dispatcher.firstAttempts.run(eventId, dispatched)
    await waitFor(() => receiver.deliveries({ path: '/held' }).length === 1)
    release()
    await running
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 1 })
  })

  it('that take long show as pending, and their endpoint can be deleted meanwhile', async () => {
    const { id } = await subscriber.endpoint(receiver.url('/long'))
    let release = () => {}
    receiver.hook('/long', {
      otherwise: reply(503, { after: new Promise<void>((resolve) => (release = resolve)) }),
    })
    const eventId = await subscriber.summary()
    const running = run(eventId)
    await waitFor(async () => (await stateOf(eventId))?.deliveries === 1)
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 1 })
    expect(await rowOf(eventId)).toMatchObject({ status: 0, attempts: 0 })
    expect(await isOpen(eventId)).toBe(true)
    await deleteEndpoint(dispatcher.db, subscriber.accountId, id)
    release()
    await running
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 1 })
    expect(await isOpen(eventId)).toBe(false)
  })

  it('of several endpoints make the event dispatched once the last has ended', async () => {
    await subscriber.endpoint(receiver.url('/one'))
    await subscriber.endpoint(receiver.url('/two'))
    receiver.hook('/two', { otherwise: reply(500) })
    const eventId = await run()
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 2 })
    expect((await jobs()).length).toBe(1)
  })

  it('that a lost worker may have made before there were rows count as interrupted', async () => {
    await subscriber.endpoint(receiver.url('/maybe'))
    const eventId = await subscriber.summary()
    await dispatchEvent(dispatcher, eventId)
    await dispatcher.events.run({ eventId, accountId: subscriber.accountId }, { unrecorded: 'any' })
    await dispatcher.firstAttempts.concluded()
    const row = await rowOf(eventId)
    expect(row).toMatchObject({ status: 0, attempts: 1, last_error: 'interrupted' })
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
    expect(receiver.deliveries({ path: '/maybe' })).toHaveLength(0)
  })

  it('that fail get one, for the time of the next attempt', async () => {
    await subscriber.endpoint(receiver.url('/bad'))
    receiver.hook('/bad', { otherwise: reply(500) })
    const eventId = await run()
    const row = await rowOf(eventId)
    const dueAt = new Date(dispatcher.clock.now().getTime() + FIRST_DELAY_MS)
    expect(row).toMatchObject({ status: 0, attempts: 1, last_error: 'http_500', next_attempt_at: dueAt })
    const [job] = await jobs()
    expect(job).toMatchObject({ id: `dlv_${row.id}`, opts: { delay: FIRST_DELAY_MS } })
    expect(await isOpen(eventId)).toBe(false)
  })

  it('leave the body in memory only if an attempt is left', async () => {
    await subscriber.endpoint(receiver.url('/well'))
    const before = dispatcher.bodies.bytes
    await run()
    expect(dispatcher.bodies.bytes).toBe(before)
    await subscriber.endpoint(receiver.url('/ill'))
    receiver.hook('/ill', { otherwise: reply(500) })
    await run()
    expect(dispatcher.bodies.bytes).toBeGreaterThan(before)
  })

  it('that get no permit at a slow endpoint go into the queue, and into the schedule', async () => {
    await subscriber.endpoint(receiver.url('/slow'))
    receiver.hook('/slow', { otherwise: reply(200, { delayMs: 1300 }) })
    await run()
    const running = run()
    await waitFor(() => receiver.deliveries({ path: '/slow' }).length === 2)
    const late = await rowOf(await run())
    expect(late).toMatchObject({ status: 0, attempts: 0, next_attempt_at: dispatcher.clock.now() })
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${late.id}`])
    await running
  })

  it('that had to wait are not sent to an endpoint that was deleted meanwhile', async () => {
    const { id } = await subscriber.endpoint(receiver.url('/gone'))
    await run()
    receiver.hook('/gone', { otherwise: reply(200, { delayMs: 2000 }) })
    const first = run()
    await waitFor(() => receiver.deliveries({ path: '/gone' }).length === 2)
    const second = run()
    await waitFor(async () => (await pendingOf(id)) === 2)
    await deleteEndpoint(dispatcher.db, subscriber.accountId, id)
    await Promise.all([first, second])
    expect(receiver.deliveries({ path: '/gone' })).toHaveLength(2)
    expect(await rowOf(await second)).toMatchObject({ status: 2, last_error: 'endpoint_deleted' })
  })

  it('that had to wait are not sent to an endpoint that the one before them disabled', async () => {
    const { id } = await subscriber.endpoint(receiver.url('/out'))
    await run()
    await dispatcher.db.query('update webhook_endpoints set consecutive_failures = 19 where id = $1', [id])
    receiver.hook('/out', { otherwise: reply(500) })
    const events = await Promise.all(Array.from({ length: 4 }, () => subscriber.summary()))
    // All before the first attempt: for an endpoint that is disabled already no delivery is made.
    const made = await Promise.all(
      events.map(async (eventId) => ({ eventId, dispatched: await dispatchEvent(dispatcher, eventId) })),
    )
    await Promise.all(
      made.map(({ eventId, dispatched }) => dispatcher.firstAttempts.run(eventId, dispatched)),
    )
    expect(receiver.deliveries({ path: '/out' })).toHaveLength(2)
    const rows = await Promise.all(events.map(rowOf))
    expect(rows.map(({ status }) => status)).toEqual([2, 2, 2, 2])
    expect(rows.map(({ last_error }) => last_error).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'endpoint_disabled'),
      'http_500',
    ])
  })

  it('are not sent to an endpoint that was deleted while the dispatch waited for a lock', async () => {
    const { id } = await subscriber.endpoint(receiver.url('/meanwhile'))
    const eventId = await subscriber.summary(UNFROZEN)
    const running = await dispatcher.db.transaction(async (tx) => {
      await tx.query('select from webhook_events where id = $1 for update', [eventId])
      const started = run(eventId)
      await waitFor(isSomebodyWaitingForALock)
      const since = performance.now()
      await deleteEndpoint(dispatcher.db, subscriber.accountId, id)
      await waitFor(() => performance.now() - since > 300)
      return { started }
    })
    await running.started
    expect(receiver.deliveries({ path: '/meanwhile' })).toHaveLength(0)
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 0, last_error: 'endpoint_deleted' })
  })

  it('send the frozen body, also where another process froze it first', async () => {
    await subscriber.endpoint(receiver.url('/frozen'))
    const audioId = 'rec_frozen'
    const eventId = await subscriber.summary({ audioId, ...UNFROZEN })
    const running = await dispatcher.db.transaction(async (tx) => {
      await tx.query('select from webhook_events where id = $1 for update', [eventId])
      const started = run(eventId)
      await waitFor(isSomebodyWaitingForALock)
      await tx.query(
        `update webhook_events set state = 'dispatched', body = '{"by":"another"}', dispatched_at = now() where id = $1`,
        [eventId],
      )
      await tx.query(
        `insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
         select id, $1, 'summary.completed', now() from webhook_endpoints where account_id = $2`,
        [eventId, subscriber.accountId],
      )
      return { started }
    })
    await running.started
    await dispatcher.attempt(await rowOf(eventId))
    expect(receiver.deliveries({ path: '/frozen' }).map(({ body }) => body.toString())).toEqual([
      '{"by":"another"}',
    ])
  })

  it('that a lost process left behind end, also when their recording was deleted in the moment they were made', async () => {
    await subscriber.endpoint(receiver.url('/purged'))
    const audioId = 'rec_purged'
    const eventId = await subscriber.summary({ audioId })
    const purge = await dispatcher.db.transaction(async (tx) => {
      await tx.query('select from webhook_events where id = $1 for update', [eventId])
      const dispatched = dispatchInRows(dispatcher, eventId)
      await waitFor(async () => (await waitingForALock()) === 1)
      const purged = purgeRecording(dispatcher.db, { accountId: subscriber.accountId, audioId })
      await waitFor(async () => (await waitingForALock()) === 2)
      return { ended: Promise.all([dispatched, purged]) }
    })
    await purge.ended
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 0, last_error: 'recording_deleted' })
    // As the first of its two statements leaves it, should its process die after that.
    await dispatcher.db.query(
      `update webhook_deliveries set status = 0, last_error = '' where event_id = $1`,
      [eventId],
    )
    await run(eventId)
    const left = await rowOf(eventId)
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${left.id}`])
    await dispatcher.attempt(left)
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 0, last_error: 'recording_deleted' })
    expect(receiver.deliveries({ path: '/purged' })).toHaveLength(0)
    expect(await isOpen(eventId)).toBe(false)
  })

  const isSomebodyWaitingForALock = async () => (await waitingForALock()) > 0

  async function waitingForALock(): Promise<number> {
    const { rows } = await dispatcher.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length
  }

  async function pendingOf(endpointId: string): Promise<number> {
    const { rows } = await dispatcher.db.query(
      `select id from webhook_deliveries where endpoint_id = $1 and status = 0`,
      [endpointId],
    )
    return rows.length
  }

  it('that a lost process left behind go into the queue with the next run of the event', async () => {
    await subscriber.endpoint(receiver.url('/left'))
    const eventId = await subscriber.summary()
    await dispatchInRows(dispatcher, eventId)
    expect(await isOpen(eventId)).toBe(true)
    await dispatcher.firstAttempts.run(eventId, await dispatchInRows(dispatcher, eventId))
    await dispatcher.firstAttempts.concluded()
    const row = await rowOf(eventId)
    expect(row).toMatchObject({ status: 0, attempts: 0, next_attempt_at: dispatcher.clock.now() })
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
    expect(await isOpen(eventId)).toBe(false)
    expect(receiver.deliveries({ path: '/left' })).toHaveLength(0)
  })

  it('that a lost worker left behind count as interrupted, and the next attempt follows at once', async () => {
    await subscriber.endpoint(receiver.url('/lost'))
    const eventId = await subscriber.summary()
    await dispatchInRows(dispatcher, eventId)
    const again = await dispatchInRows(dispatcher, eventId)
    const lost = { unrecorded: 'any' } as const
    await Promise.all([
      dispatcher.firstAttempts.run(eventId, again, lost),
      dispatcher.firstAttempts.run(eventId, again, lost),
    ])
    await dispatcher.firstAttempts.concluded()
    const row = await rowOf(eventId)
    expect(row).toMatchObject({
      status: 0,
      attempts: 1,
      last_error: 'interrupted',
      next_attempt_at: dispatcher.clock.now(),
    })
    expect(await listAttempts(dispatcher.db, [row.id as DeliveryId])).toMatchObject([
      { number: 1, error: 'interrupted' },
    ])
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
    expect(await isOpen(eventId)).toBe(false)
  })

  it('of a worker that was thought lost count once, whoever records them first', async () => {
    await subscriber.endpoint(receiver.url('/alive'))
    const eventId = await subscriber.summary()
    const first = await dispatchInRows(dispatcher, eventId)
    const again = await dispatchInRows(dispatcher, eventId)
    await dispatcher.firstAttempts.run(eventId, first)
    await dispatcher.firstAttempts.run(eventId, again, { unrecorded: 'any' })
    await dispatcher.firstAttempts.concluded()
    expect(await rowOf(eventId)).toMatchObject({ status: 1, attempts: 1, last_error: '' })
    expect(await jobs()).toEqual([])
  })
})
