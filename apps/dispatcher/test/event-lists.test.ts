import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGuarded } from '@signet/local'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import type { EventId } from '@signet/webhook-core'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import type { Subscriber } from './support/subscriber.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const HTML = { summaries: [{ label: 'Summary', content: '<p>Hi</p>', format: 'html' }] }

describe('events that share a job', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  let subscriber: Subscriber
  let conversion = gate()
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  beforeEach(async () => {
    conversion = gate()
    const convert = async (markdown: string) => {
      await conversion.opened
      return { markdown, cpuMs: 1 }
    }
    dispatcher = await startDispatcher({
      start: false,
      // The conversion scheduler takes three events of an account while no other account has any.
      env: { DISPATCHER_CONCURRENCY: '4' },
      ports: { ca: receiver.authorityCert, convert },
    })
    subscriber = dispatcher.subscriber()
  })
  afterEach(async () => {
    conversion.open()
    await dispatcher.stop()
  })
  afterAll(() => receiver.close())

  const jobs = () => dispatcher.queues.events.getJobs()
  const arrived = (path: string) => receiver.deliveries({ path }).map(({ event }) => event?.id)
  const untilDelivered = (count: number) =>
    waitFor(async () => {
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return rows.length === count && rows.every(({ status }) => status === 1)
    })

  it('are all delivered, and leave nothing in the queue', async () => {
    await subscriber.endpoint(receiver.url('/together'))
    const ids = await subscriber.summaries(20)
    expect((await jobs()).map(({ data }) => data.events.length)).toEqual([20])
    dispatcher.engine.start()
    await untilDelivered(20)
    expect(arrived('/together').sort()).toEqual([...ids].sort())
    await waitFor(async () => (await jobs()).length === 0)
  })

  it('do not wait for one that waits for its conversion', async () => {
    await subscriber.endpoint(receiver.url('/beside'))
    await subscriber.summaries(8, (number) => (number === 3 ? HTML : {}))
    dispatcher.engine.start()
    await waitFor(() => arrived('/beside').length === 7)
    conversion.open()
    await untilDelivered(8)
  })

  it('do not hold those that find no room for their conversion: each gets a job of its own', async () => {
    await subscriber.endpoint(receiver.url('/deferred'))
    const ids = await subscriber.summaries(8, (number) => (number < 5 ? HTML : {}))
    dispatcher.engine.start()
    await waitFor(() => arrived('/deferred').length === 3)
    const own = await waitFor(async () => {
      const found = (await jobs()).filter(({ data }) => data.deferred)
      return found.length === 2 && found
    })
    for (const { id, data } of own) {
      expect(data.events.map(({ eventId }) => eventId)).toEqual([id])
      expect(ids.slice(0, 5)).toContain(id)
    }
    conversion.open()
    await untilDelivered(8)
  })

  it('do not fail with one that fails on our side: it runs again in a job of its own', async () => {
    await subscriber.endpoint(receiver.url('/beside-bad'))
    const ids = await subscriber.summaries(8)
    const bad = ids[5] as EventId
    await dispatcher.db.query(
      `create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'refused'; end $$`,
    )
    await dispatcher.db.query(
      `create trigger refuse before insert on webhook_deliveries for each row
         when (new.event_id = '${bad}') execute function refuse()`,
    )
    dispatcher.engine.start()
    const others = ids.filter((id) => id !== bad)
    const arrivedOthers = () => arrived('/beside-bad').filter((id) => id !== bad)
    await waitFor(() => arrivedOthers().length === others.length)
    const failure = await waitFor(() =>
      dispatcher.logLines.find(({ msg }) => msg === 'job failed on our side; retrying'),
    )
    expect(failure).toMatchObject({ queue: 'events', job_id: bad })
    await waitFor(async () => (await jobs()).map(({ id }) => id).join() === bad)
    const again = () =>
      dispatcher.logLines.filter(({ msg, job_id }) => /job failed/.test(String(msg)) && job_id === bad)
    // Sent once if its row was going to be written with the result; not at all if the run was so slow that the row came first.
    const sent = () => arrived('/beside-bad').filter((id) => id === bad).length
    await waitFor(() => again().length >= 3)
    // The dispatcher does not send again what it cannot record.
    const sentAtFirst = sent()
    expect(sentAtFirst).toBeLessThanOrEqual(1)
    await dispatcher.db.query('drop trigger refuse on webhook_deliveries')
    await untilDelivered(8)
    expect(arrivedOthers().sort()).toEqual([...others].sort())
    expect(sent()).toBe(sentAtFirst + 1)
    const { rows } = await dispatcher.db.query(
      'select attempts from webhook_deliveries where event_id = $1',
      [bad],
    )
    expect(rows).toEqual([{ attempts: 2 }])
  })

  it('end when the process that has them is killed in the middle, and what was delivered is not sent again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'signet-event-lists-'))
    writeFileSync(join(folder, 'authority.pem'), receiver.authorityCert)
    const hang = { kind: 'hang' } as const
    receiver.hook('/killed', {
      answers: [reply(200), reply(200), reply(200), hang, hang],
      otherwise: reply(200),
    })
    await subscriber.endpoint(receiver.url('/killed'))
    const ids = await subscriber.summaries(20)
    const doomed = await startGuarded({
      command: process.execPath,
      args: [join(ROOT, 'apps/dispatcher/dist/main.js'), 'serve'],
      stopSignal: 'TERM',
      logFile: join(folder, 'log'),
      cwd: join(ROOT, 'apps/dispatcher'),
      env: {
        PATH: process.env['PATH'],
        NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
        ...dispatcher.env,
        // The two attempts that hang hold all permits of the endpoint for 8 s.
        DISPATCHER_ENDPOINT_CONCURRENCY: '2',
      },
    })
    await waitFor(async () => {
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return rows.filter(({ status }) => status === 1).length === 3 && arrived('/killed').length === 5
    })
    const delivered = arrived('/killed').slice(0, 3)
    doomed.kill('SIGKILL')
    await doomed.exited
    dispatcher.engine.start()
    await untilDelivered(20)
    const counts = ids.map((id) => arrived('/killed').filter((one) => one === id).length)
    expect(delivered.map((id) => counts[ids.indexOf(id as EventId)])).toEqual([1, 1, 1])
    expect(counts.filter((count) => count === 2)).toHaveLength(2)
    expect(counts.filter((count) => count === 1)).toHaveLength(18)
    rmSync(folder, { recursive: true, force: true })
  })
})
