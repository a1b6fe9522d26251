import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { queueSummary, anEndpoint, aSummary, deliveryState, later, NOW } from '@signet/webhook-testkit'
import { closeAccount, deleteEndpoint, purgeRecording, type Endpoint } from '@signet/webhook-core/stores'
import { readBacklog } from '../../src/backlog/backlog-store.js'
import { recordAttempts } from '../../src/deliveries/attempt-store.js'
import { findOverdueDeliveries } from '../../src/deliveries/delivery-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import {
  concludeFirstAttempts,
  findOpenFirstAttempts,
  scheduleDeliveries,
} from '../../src/dispatching/first-attempt-store.js'
import { attemptsIn } from '../support/attempts.js'
import { aResult, deliveriesIn, openDeliveries, retry, type TestDelivery } from '../support/deliveries.js'

const database = useWebhooksDatabase()

describe('first attempts', () => {
  const isOpen = async ({ eventId }: TestDelivery) => {
    const open = await findOpenFirstAttempts(database.db, { before: later(1), limit: 1000 })
    return open.some(({ id }) => id === eventId)
  }
  const one = async (endpoint?: Endpoint) => {
    const [delivery] = await openDeliveries(database.db, endpoint ?? (await anEndpoint(database.db)), 1)
    if (!delivery) throw new Error('a delivery')
    return delivery
  }

  it('are open from the dispatch until it is said that they are not', async () => {
    const { db } = database
    const [delivery, other] = [await one(), await one()]
    await recordAttempts(db, [aResult(delivery, { kind: 'delivered' }), aResult(other, retry())])
    expect(await isOpen(delivery)).toBe(true)
    await concludeFirstAttempts(db, [delivery.eventId])
    expect(await isOpen(delivery)).toBe(false)
    expect(await isOpen(other)).toBe(true)
  })

  it('stay open while one of them has neither ended nor been scheduled, whatever is said', async () => {
    const { db } = database
    const delivery = await one()
    await concludeFirstAttempts(db, [delivery.eventId])
    expect(await isOpen(delivery)).toBe(true)
    await scheduleDeliveries(db, [delivery.id], NOW)
    await concludeFirstAttempts(db, [delivery.eventId])
    expect(await isOpen(delivery)).toBe(false)
  })

  it('are found page by page once they are old enough', async () => {
    const { db } = database
    const made = [await one(), await one(), await one()]
    const seen: string[] = []
    for (let after; ;) {
      const page = await findOpenFirstAttempts(db, { before: later(1), after, limit: 2 })
      seen.push(...page.map(({ id }) => id))
      after = page.at(-1)
      if (!after) break
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining(made.map(({ eventId }) => eventId)))
    expect(await findOpenFirstAttempts(db, { before: NOW, limit: 10 })).toEqual([])
  })

  it('that are not made stand in the schedule, and what stands there keeps its time', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [fresh, failed, ended] = (await openDeliveries(db, endpoint, 3)) as [
      TestDelivery,
      TestDelivery,
      TestDelivery,
    ]
    await recordAttempts(db, [aResult(failed, retry()), aResult(ended, { kind: 'delivered' })])
    const before = { before: later(1000), limit: 1000 }
    const isOverdue = async () => (await findOverdueDeliveries(db, before)).some(({ id }) => id === fresh.id)
    expect(await isOverdue()).toBe(false)
    const ids = [fresh, failed, ended].map(({ id }) => id)
    expect(await scheduleDeliveries(db, ids, NOW)).toEqual(new Set())
    expect(await isOverdue()).toBe(true)
    expect(await deliveryState(db, fresh.id)).toMatchObject({ status: 0, next_attempt_at: NOW })
    expect(await deliveryState(db, failed.id)).toMatchObject({ status: 0, next_attempt_at: later(60_040) })
    expect(await deliveryState(db, ended.id)).toMatchObject({ status: 1, next_attempt_at: null })
  })

  it('that succeed change no index', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const deliveries = await openDeliveries(db, endpoint, 20)
    await db.transaction(async (tx) => {
      const updates = async () => {
        const { rows } = await tx.query<{ all: number; withoutIndexes: number }>(
          `select pg_stat_get_xact_tuples_updated('webhook_deliveries'::regclass)::integer as "all",
             pg_stat_get_xact_tuples_hot_updated('webhook_deliveries'::regclass)::integer as "withoutIndexes"`,
        )
        return rows[0] ?? { all: 0, withoutIndexes: 0 }
      }
      const before = await updates()
      await recordAttempts(
        tx,
        deliveries.map((delivery) => aResult(delivery, { kind: 'delivered' })),
      )
      const after = await updates()
      expect(after.all - before.all).toBe(20)
      expect(after.withoutIndexes - before.withoutIndexes).toBe(20)
    })
  })

  it('count as pending', async () => {
    const { db } = database
    const { pending } = await readBacklog(db, NOW)
    await one()
    expect((await readBacklog(db, NOW)).pending).toBe(pending + 1)
  })

  it('count as due when they are still open long after the time that any attempt takes', async () => {
    const { db } = database
    const [soon, late] = [later(10_000), later(16_000)]
    const before = { soon: await readBacklog(db, soon), late: await readBacklog(db, late) }
    const delivery = await one()
    expect((await readBacklog(db, soon)).due).toBe(before.soon.due)
    const { due, oldestDueAt } = await readBacklog(db, late)
    expect(due).toBe(before.late.due + 1)
    expect(oldestDueAt?.getTime()).toBeLessThanOrEqual(NOW.getTime())
    await recordAttempts(db, [aResult(delivery, { kind: 'delivered' })])
    expect((await readBacklog(db, late)).due).toBe(before.late.due)
  })

  it.each<[string, string, (endpoint: Endpoint, audioId: string) => Promise<unknown>]>([
    [
      'its endpoint is deleted',
      'endpoint_deleted',
      ({ accountId, id }) => deleteEndpoint(database.db, accountId, id),
    ],
    ['the account is closed', 'endpoint_deleted', ({ accountId }) => closeAccount(database.db, accountId)],
    [
      'the recording is deleted',
      'recording_deleted',
      ({ accountId }, audioId) => purgeRecording(database.db, { accountId, audioId }),
    ],
  ])('are cancelled when %s', async (_what, word, act) => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId })
    await queueSummary(db, summary)
    const made = await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW)
    await act(endpoint, summary.audioId)
    const [delivery] = deliveriesIn(made)
    expect(await deliveryState(db, delivery?.id ?? ('0' as never))).toMatchObject({
      status: 2,
      last_error: word,
      next_attempt_at: null,
    })
  })

  it('are cancelled when their endpoint is disabled', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const deliveries = await openDeliveries(db, endpoint, 21)
    const [last, ...failing] = deliveries as [TestDelivery, ...TestDelivery[]]
    await attemptsIn(database).record(...failing.map((delivery) => aResult(delivery, retry())))
    expect(await deliveryState(db, last.id)).toMatchObject({ status: 2, last_error: 'endpoint_disabled' })
  })
})
