import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { lockWaiters, waitFor } from '@signet/testkit'
import { newEventId, type EventId } from '@signet/webhook-core'
import type { RecordingReader, RecordingRef } from '@signet/webhook-core/stores'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'
import { gate, type Gate } from './support/gate.js'

const MEBIBYTE = 1024 * 1024

type Reading = (refs: readonly RecordingRef[]) => Promise<void>
const READ_AT_ONCE: Reading = () => Promise.resolve()
/** Runs before transcripts are read; a test replaces it to delay them. */
let reading = READ_AT_ONCE

/** A recording's name decides what it holds. Reads return at once, however busy the machine is. */
const reader: RecordingReader = {
  recording: (refs) => Promise.resolve(refs.map(() => ({ title: 'Weekly sync' }))),
  transcript: (refs) =>
    reading(refs).then(() => refs.map(({ audioId }) => (audioId.startsWith('large') ? LARGE : null))),
  summaries: (refs) =>
    Promise.resolve(
      refs.map(({ audioId }) =>
        /^(bomb|html)/.test(audioId)
          ? Array.from({ length: 3 }, () => ({ label: 'Summary', content: audioId, format: 'html' }))
          : [],
      ),
    ),
}
const LARGE = { language: 'en', text: 'x'.repeat(MEBIBYTE) }

type OtherAccount = { path: string; isServed: () => Promise<unknown> }

/** These tests check order, not time: what another account sends later arrives first. */
describe('an account that sends the worst it can', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  let conversion: Gate
  let converted: string[]
  beforeEach(async () => {
    receiver = await startReceiver()
    conversion = gate()
    converted = []
    // Converting a bomb takes until the test opens the gate. Everything else is converted at once.
    const convert = async (content: string) => {
      converted.push(content)
      if (content.startsWith('bomb')) await conversion.opened
      return { markdown: content, cpuMs: 1 }
    }
    dispatcher = await startDispatcher({
      start: false,
      // The worker takes 90 events from the queue at once. Up to 12 conversions may wait or run, six of them for one account.
      env: { DISPATCHER_CONCURRENCY: '10' },
      ports: { ca: receiver.authorityCert, reader, convert },
    })
  })
  afterEach(async () => {
    conversion.open()
    reading = READ_AT_ONCE
    // Closing the connections ends the attempts that hang.
    await receiver.close()
    await dispatcher.stop()
  })

  const arrived = (path: string) => receiver.deliveries({ path }).length

  /** Publishes `count` events about recordings of this kind, all at once. */
  async function publish(subscriber: Subscriber, kind: string, count: number): Promise<EventId[]> {
    const ids = Array.from({ length: count }, () => newEventId(new Date()))
    await dispatcher.db.query(
      `insert into webhook_events (id, account_id, type, audio_id, source)
       select id, $2, 'summary.completed', $3 || right(id, 20), 'test' from unnest($1::text[]) as id`,
      [ids, subscriber.accountId, kind],
    )
    const bytes = kind === 'large' ? MEBIBYTE : undefined
    await dispatcher.queues.addEvents(ids.map((id) => ({ id, accountId: subscriber.accountId, bytes })))
    return ids
  }

  /** Publishes an event without HTML, a ping and, if wanted, an event with HTML. */
  async function anotherAccount({ html = false } = {}): Promise<OtherAccount> {
    const other = dispatcher.subscriber()
    const path = `/other/${other.accountId}`
    const endpoint = await other.endpoint(receiver.url(path))
    await publish(other, 'plain', 1)
    await other.ping(endpoint.id)
    if (html) await publish(other, 'html', 1)
    const expected = html ? 3 : 2
    return {
      path,
      isServed: () => waitFor(() => arrived(path) === expected, { describe: `deliveries to ${path}` }),
    }
  }

  async function queuedEventsOf({ accountId }: Subscriber): Promise<number> {
    const { rows } = await dispatcher.db.query<{ count: number }>(
      `select count(*)::integer as count from webhook_events where account_id = $1 and state = 'queued'`,
      [accountId],
    )
    return rows[0]?.count ?? 0
  }

  it('holds up no plain event and no ping while its HTML is converted', async () => {
    dispatcher.engine.start()
    const heavy = dispatcher.subscriber()
    const { id } = await heavy.endpoint(receiver.url('/heavy'))
    await publish(heavy, 'bomb', 1)
    await waitFor(() => converted.length === 1)
    await (await anotherAccount({ html: true })).isServed()
    await publish(heavy, 'plain', 1)
    await heavy.ping(id)
    await waitFor(() => arrived('/heavy') === 2, { describe: 'its own other events' })
    conversion.open()
    await waitFor(() => arrived('/heavy') === 3)
  })

  it('holds up nobody with more conversions than the process takes events, and none of them gets lost', async () => {
    dispatcher.engine.start()
    const heavy = dispatcher.subscriber()
    await heavy.endpoint(receiver.url('/bombs'))
    await publish(heavy, 'bomb', 120)
    await waitFor(() => converted.length === 1, { describe: 'its thread busy' })
    await (await anotherAccount({ html: true })).isServed()
    await waitFor(async () => 1 + dispatcher.conversions.waiting + (await deferredEvents()) === 120)
    // The others are back in the queue, so their HTML is not in memory.
    expect(dispatcher.conversions.waiting).toBe(5)
    expect(arrived('/bombs')).toBe(0)
    conversion.open()
    await waitFor(() => arrived('/bombs') === 120)
  })

  async function deferredEvents(): Promise<number> {
    const jobs = await dispatcher.queues.events.getJobs()
    // A job that becomes due meanwhile may be listed twice.
    return new Set(jobs.filter(({ data }) => data.deferred).map(({ id }) => id)).size
  }

  it('gives others the next free thread, before its own next document', async () => {
    dispatcher.engine.start()
    // Each account gets one thread at most.
    for (const heavy of [dispatcher.subscriber(), dispatcher.subscriber()]) {
      await heavy.endpoint(receiver.url('/documents'))
      await publish(heavy, 'bomb', 3)
    }
    await waitFor(() => converted.length === 2, { describe: 'all threads busy' })
    const other = dispatcher.subscriber()
    await other.endpoint(receiver.url('/turns'))
    await publish(other, 'html', 1)
    await waitFor(async () => (await queuedEventsOf(other)) === 1 && dispatcher.conversions.waiting === 5)
    conversion.open()
    await waitFor(() => arrived('/turns') === 1)
    // In order of arrival, the first document of the other account would have been the seventh, and its last one among the last.
    expect(converted.findIndex((content) => content.startsWith('html'))).toBeLessThan(5)
    await waitFor(() => arrived('/documents') === 6)
  })

  it('holds up no other event while its large recordings are read', async () => {
    const read = gate()
    let isReading = false
    reading = async (refs) => {
      if (!refs.some(({ audioId }) => audioId.startsWith('large'))) return
      isReading = true
      await read.opened
    }
    dispatcher.engine.start()
    const heavy = dispatcher.subscriber()
    await heavy.endpoint(receiver.url('/large'))
    await publish(heavy, 'large', 20)
    await waitFor(() => isReading)
    await (await anotherAccount()).isServed()
    expect(arrived('/large')).toBe(0)
    read.open()
    await waitFor(() => arrived('/large') === 20)
  })

  it('holds up no other event while its large bodies are dispatched', async () => {
    // Without this, a statement that waits for a lock would time out after 30 s, and the others behind it would arrive after all.
    Object.assign(dispatcher.db.pool.options, { statement_timeout: 0, query_timeout: 0 })
    dispatcher.engine.start()
    const heavy = dispatcher.subscriber()
    const { id } = await heavy.endpoint(receiver.url('/large'))
    await dispatcher.queues.events.pause()
    const ids = await publish(heavy, 'large', 20)
    await dispatcher.db.transaction((tx) =>
      tx.rehearse(async () => {
        // A dispatch that inserts the same rows waits until this transaction ends. If the events were locked instead, it would skip them.
        await tx.query(
          `insert into webhook_deliveries (endpoint_id, event_id, event_type)
           select $1, event_id, 'summary.completed' from unnest($2::text[]) event_id`,
          [id, ids],
        )
        await dispatcher.queues.events.resume()
        await lockWaiters(dispatcher.db, 1, { orMore: true })
        await (await anotherAccount()).isServed()
      }),
    )
    await waitFor(() => arrived('/large') === 20)
  })

  it('is overtaken when it has thousands of events, although its receivers are fast', async () => {
    dispatcher.engine.start()
    const heavy = dispatcher.subscriber()
    await heavy.endpoint(receiver.url('/flood'))
    // Once the account is known to be fast, it may use the whole process.
    await publish(heavy, 'plain', 40)
    await waitFor(() => arrived('/flood') === 40)
    await publish(heavy, 'plain', 2000)
    await waitFor(() => arrived('/flood') > 300)
    await dispatcher.queues.events.pause()
    const other = await anotherAccount()
    const before = arrived('/flood')
    await dispatcher.queues.events.resume()
    await other.isServed()
    expect(arrivedBefore(other) - before).toBeLessThan(500)
  })

  it('is overtaken when it has a thousand events, large ones and receivers that hang', async () => {
    receiver.hook('/hanging', { otherwise: { kind: 'hang' } })
    dispatcher.engine.start()
    const heavy = dispatcher.subscriber()
    await heavy.endpoint(receiver.url('/hanging'))
    await heavy.endpoint(receiver.url('/flood'))
    await publish(heavy, 'bomb', 20)
    await publish(heavy, 'large', 20)
    // Otherwise some of them would arrive before the other account publishes.
    await dispatcher.queues.events.pause()
    await publish(heavy, 'plain', 1000)
    const other = await anotherAccount()
    await dispatcher.queues.events.resume()
    await other.isServed()
    expect(arrivedBefore(other)).toBeLessThan(500)
  })

  /** Counts the deliveries of the flood that arrived before the last delivery of another account. */
  function arrivedBefore({ path }: OtherAccount): number {
    const inOrder = receiver.deliveries().map((delivery) => delivery.path)
    return inOrder.slice(0, inOrder.lastIndexOf(path)).filter((each) => each === '/flood').length
  }
})
