import { describe, expect, it } from '@jest/globals'
import { DEFAULT_RETRY_DELAYS_SECONDS } from '@signet/webhook-core'
import { deleteEndpoint } from '@signet/webhook-core/stores'
import { reply } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { FRESH_MS } from '../src/attempts/snapshot-freshness.js'
import { dispatchEvent, dispatchInRows } from './support/dispatcher.js'
import { useFirstAttempts } from './support/first-attempts.js'
import { gate } from './support/gate.js'

const FIRST_DELAY_MS = (DEFAULT_RETRY_DELAYS_SECONDS[0] ?? 0) * 1000
/** Parts of an event whose body the dispatcher builds. */
const UNFROZEN = { recording: { title: 'Weekly sync' } }

describe('first attempts, under the job of their event', () => {
  const rig = useFirstAttempts()
  const { run, rowOf, stateOf, jobs, isOpen } = rig

  async function pendingOf(endpointId: string): Promise<number> {
    const { rows } = await rig.dispatcher.db.query(
      `select id from webhook_deliveries where endpoint_id = $1 and status = 0`,
      [endpointId],
    )
    return rows.length
  }

  it('that succeed need no job of their own', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/good'))
    const eventId = await run()
    expect(await rowOf(eventId)).toMatchObject({ status: 1, attempts: 1, next_attempt_at: null })
    expect(rig.receiver.deliveries({ path: '/good' })).toHaveLength(1)
    expect(await jobs()).toEqual([])
    expect(await isOpen(eventId)).toBe(false)
  })

  it('write the row of a delivery with its result, and make the event dispatched', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/held'))
    let release = () => {}
    rig.receiver.hook('/held', {
      otherwise: reply(200, { after: new Promise<void>((resolve) => (release = resolve)) }),
    })
    const eventId = await rig.subscriber.summary()
    const dispatched = await dispatchEvent(rig.dispatcher, eventId)
    expect(await stateOf(eventId)).toEqual({ state: 'queued', deliveries: 0 })
    const running = rig.dispatcher.firstAttempts.run(eventId, dispatched)
    await waitFor(() => rig.receiver.deliveries({ path: '/held' }).length === 1)
    release()
    await running
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 1 })
  })

  it.each([
    ['reads the event', '/twice', dispatchEvent],
    ['writes its rows first', '/twice-in-rows', dispatchInRows],
  ])('are made by one of two jobs that share the statement that %s', async (_, path, dispatch) => {
    await rig.subscriber.endpoint(rig.receiver.url(path))
    const eventId = await rig.subscriber.summary()
    const dispatched = await Promise.all([
      dispatch(rig.dispatcher, eventId),
      dispatch(rig.dispatcher, eventId),
    ])
    await Promise.all(dispatched.map((outcome) => rig.dispatcher.firstAttempts.run(eventId, outcome)))
    expect(rig.receiver.deliveries({ path })).toHaveLength(1)
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 1 })
  })

  it('that take long show as pending, and their endpoint can be deleted meanwhile', async () => {
    const { id } = await rig.subscriber.endpoint(rig.receiver.url('/long'))
    let release = () => {}
    rig.receiver.hook('/long', {
      otherwise: reply(503, { after: new Promise<void>((resolve) => (release = resolve)) }),
    })
    const eventId = await rig.subscriber.summary()
    const running = run(eventId)
    await waitFor(async () => (await stateOf(eventId))?.deliveries === 1)
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 1 })
    expect(await rowOf(eventId)).toMatchObject({ status: 0, attempts: 0 })
    expect(await isOpen(eventId)).toBe(true)
    await deleteEndpoint(rig.dispatcher.db, rig.subscriber.accountId, id)
    release()
    await running
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 1 })
    expect(await isOpen(eventId)).toBe(false)
  })

  it('of several endpoints make the event dispatched once the last has ended', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/one'))
    await rig.subscriber.endpoint(rig.receiver.url('/two'))
    rig.receiver.hook('/two', { otherwise: reply(500) })
    const eventId = await run()
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 2 })
    expect((await jobs()).length).toBe(1)
  })

  it('that fail get one, for the time of the next attempt', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/bad'))
    rig.receiver.hook('/bad', { otherwise: reply(500) })
    const eventId = await run()
    const row = await rowOf(eventId)
    const dueAt = new Date(rig.dispatcher.clock.now().getTime() + FIRST_DELAY_MS)
    expect(row).toMatchObject({ status: 0, attempts: 1, last_error: 'http_500', next_attempt_at: dueAt })
    const [job] = await jobs()
    expect(job).toMatchObject({ id: `dlv_${row.id}`, opts: { delay: FIRST_DELAY_MS } })
    expect(await isOpen(eventId)).toBe(false)
  })

  it('wait for a minute, uncounted, while the key of a secret is not configured', async () => {
    const { id } = await rig.subscriber.endpoint(rig.receiver.url('/key'))
    await rig.dispatcher.db.query(`update webhook_endpoints set secret_key_id = 'gone' where id = $1`, [id])
    const row = await rowOf(await run())
    expect(row).toMatchObject({ status: 0, attempts: 0, last_error: '' })
    expect(await jobs()).toMatchObject([{ id: `dlv_${row.id}`, opts: { delay: 60_000 } }])
    expect(rig.receiver.deliveries({ path: '/key' })).toEqual([])
  })

  it('leave the body in memory only if an attempt is left', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/well'))
    const before = rig.dispatcher.bodies.bytes
    await run()
    expect(rig.dispatcher.bodies.bytes).toBe(before)
    await rig.subscriber.endpoint(rig.receiver.url('/ill'))
    rig.receiver.hook('/ill', { otherwise: reply(500) })
    await run()
    expect(rig.dispatcher.bodies.bytes).toBeGreaterThan(before)
  })

  it('that get no permit at a slow endpoint go into the queue, and into the schedule', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/slow'))
    const answer = gate()
    rig.receiver.hook('/slow', {
      answers: [reply(200, { delayMs: 1300 })],
      otherwise: reply(200, { after: answer.opened }),
    })
    await run()
    const running = run()
    await waitFor(() => rig.receiver.deliveries({ path: '/slow' }).length === 2)
    const late = await rowOf(await run())
    expect(late).toMatchObject({ status: 0, attempts: 0, next_attempt_at: rig.dispatcher.clock.now() })
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${late.id}`])
    answer.open()
    await running
  })

  it('that had to wait are not sent to an endpoint that was deleted meanwhile', async () => {
    const { id } = await rig.subscriber.endpoint(rig.receiver.url('/gone'))
    await run()
    const answer = gate()
    rig.receiver.hook('/gone', { otherwise: reply(200, { after: answer.opened }) })
    const first = run()
    await waitFor(() => rig.receiver.deliveries({ path: '/gone' }).length === 2)
    const second = run()
    await waitFor(async () => (await pendingOf(id)) === 2)
    await deleteEndpoint(rig.dispatcher.db, rig.subscriber.accountId, id)
    answer.open()
    await Promise.all([first, second])
    expect(rig.receiver.deliveries({ path: '/gone' })).toHaveLength(2)
    expect(await rowOf(await second)).toMatchObject({ status: 2, last_error: 'endpoint_deleted' })
  })

  it('that had to wait are not sent to an endpoint that the one before them disabled', async () => {
    const { id } = await rig.subscriber.endpoint(rig.receiver.url('/out'))
    await run()
    await rig.dispatcher.db.query('update webhook_endpoints set consecutive_failures = 19 where id = $1', [
      id,
    ])
    rig.receiver.hook('/out', { otherwise: reply(500) })
    const events = await Promise.all(Array.from({ length: 4 }, () => rig.subscriber.summary()))
    // Dispatches all before the first attempt: an endpoint that is already disabled gets no deliveries.
    const made = await Promise.all(
      events.map(async (eventId) => ({ eventId, dispatched: await dispatchEvent(rig.dispatcher, eventId) })),
    )
    await Promise.all(
      made.map(({ eventId, dispatched }) => rig.dispatcher.firstAttempts.run(eventId, dispatched)),
    )
    expect(rig.receiver.deliveries({ path: '/out' })).toHaveLength(2)
    const rows = await Promise.all(events.map(rowOf))
    expect(rows.map(({ status }) => status)).toEqual([2, 2, 2, 2])
    expect(rows.map(({ last_error }) => last_error).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'endpoint_disabled'),
      'http_500',
    ])
  })

  it('are not sent to an endpoint that was deleted while its event was locked', async () => {
    const { id } = await rig.subscriber.endpoint(rig.receiver.url('/locked'))
    const eventId = await rig.subscriber.summary(UNFROZEN)
    const running = await rig.dispatcher.db.transaction(async (tx) => {
      await tx.query('select from webhook_events where id = $1 for update', [eventId])
      const started = run(eventId)
      await rig.untilLeftOut()
      await deleteEndpoint(rig.dispatcher.db, rig.subscriber.accountId, id)
      return { started }
    })
    await running.started
    expect(rig.receiver.deliveries({ path: '/locked' })).toHaveLength(0)
    expect(await stateOf(eventId)).toEqual({ state: 'dispatched', deliveries: 0 })
  })

  it('are not sent to an endpoint that was deleted after a statement that took long began', async () => {
    const { id } = await rig.subscriber.endpoint(rig.receiver.url('/meanwhile'))
    const eventId = await rig.subscriber.summary(UNFROZEN)
    const dispatched = await dispatchEvent(rig.dispatcher, eventId)
    await deleteEndpoint(rig.dispatcher.db, rig.subscriber.accountId, id)
    await rig.dispatcher.firstAttempts.run(eventId, { ...dispatched, readAt: dispatched.readAt - FRESH_MS })
    await rig.dispatcher.firstAttempts.concluded()
    expect(rig.receiver.deliveries({ path: '/meanwhile' })).toHaveLength(0)
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 0, last_error: 'endpoint_deleted' })
  })

  it('send the frozen body, also where another process froze it first', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/frozen'))
    const audioId = 'rec_frozen'
    const eventId = await rig.subscriber.summary({ audioId, ...UNFROZEN })
    const running = await rig.dispatcher.db.transaction(async (tx) => {
      await tx.query('select from webhook_events where id = $1 for update', [eventId])
      const started = run(eventId)
      await rig.untilLeftOut()
      await tx.query(
        `update webhook_events set state = 'dispatched', body = '{"by":"another"}', dispatched_at = now() where id = $1`,
        [eventId],
      )
      await tx.query(
        `insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
         select id, $1, 'summary.completed', now() from webhook_endpoints where account_id = $2`,
        [eventId, rig.subscriber.accountId],
      )
      return { started }
    })
    await running.started
    await rig.dispatcher.attempt(await rowOf(eventId))
    expect(rig.receiver.deliveries({ path: '/frozen' }).map(({ body }) => body.toString())).toEqual([
      '{"by":"another"}',
    ])
  })
})
