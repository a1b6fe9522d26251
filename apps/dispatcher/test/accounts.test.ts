import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Db } from '@signet/db'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { EventId } from '@signet/webhook-core'
import { writeTombstone, closeAccount, moveHeldDeliveries } from '@signet/webhook-core/stores'
import { AttemptService, type AttemptDeps } from '../src/attempts/attempt-service.js'
import { DueDeliveries } from '../src/attempts/due-deliveries.js'
import { findDeliverySnapshots, type DeliverySnapshot } from '../src/deliveries/delivery-store.js'
import { dispatchEvent, dispatchInRows, deliveriesOf, type DeliveryRow } from './support/dispatcher.js'
import { jobOf, startStepwise, type Stepwise } from './support/stepwise.js'

const DAY = 86_400_000
const AT_ONCE = '1970-01-01T00:00:00Z'

/** Dependencies of an attempt that this file does not need, because nothing is sent. */
const notUsed = () =>
  ({}) as Pick<AttemptDeps, 'freshness' | 'lostRuns' | 'recorder' | 'secrets' | 'schedule' | 'send'>

/** Bans an account as the webhooks API does when the identity server tells it to. */
async function ban(db: Db, accountId: string, until: Date | null): Promise<void> {
  await db.query(
    `insert into account_states (account_id, banned_until, ban_decided_at) values ($1, $2, now())
     on conflict (account_id) do update set banned_until = excluded.banned_until`,
    [accountId, until],
  )
}

describe('deliveries of an account', () => {
  let receiver: Receiver
  let dispatcher: Stepwise
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startStepwise({ ports: { ca: receiver.authorityCert } })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  const anAccount = async (path: string) => {
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint(receiver.url(path))
    return subscriber
  }
  const received = (path: string) => receiver.deliveries({ path }).length
  const firstAttempts = async (eventId: Awaited<ReturnType<typeof made>>) =>
    dispatcher.firstAttempts.run(eventId, await dispatchEvent(dispatcher, eventId))
  const made = (subscriber: ReturnType<Stepwise['subscriber']>) => subscriber.summary()

  const lift = (accountId: string, until: Date) =>
    dispatcher.db.transaction(async (tx) => {
      await tx.query('update account_states set banned_until = null where account_id = $1', [accountId])
      await moveHeldDeliveries(tx, { accountId, from: until.toISOString(), to: AT_ONCE })
    })

  it('that is banned are held without an attempt, and go on when the ban is lifted', async () => {
    const subscriber = await anAccount('/held')
    const until = new Date(dispatcher.clock.now().getTime() + 30 * DAY)
    const rows = await dispatcher.scheduled(subscriber)
    await ban(dispatcher.db, subscriber.accountId, until)
    await dispatcher.attempt(...rows)
    await firstAttempts(await made(subscriber))
    const held = await deliveriesOf(dispatcher.db, subscriber.accountId)
    expect(held).toMatchObject([
      { status: 0, attempts: 0, last_error: '', next_attempt_at: until },
      { status: 0, attempts: 0, last_error: '', next_attempt_at: until },
    ])
    expect(received('/held')).toBe(0)
    await lift(subscriber.accountId, until)
    await dispatcher.attempt(...held)
    expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toMatchObject([
      { status: 1, attempts: 1 },
      { status: 1, attempts: 1 },
    ])
    expect(received('/held')).toBe(2)
  })

  it('that is banned have no job while they are held, also when the job of their event runs again', async () => {
    const subscriber = await anAccount('/again')
    const until = new Date(dispatcher.clock.now().getTime() + 30 * DAY)
    await ban(dispatcher.db, subscriber.accountId, until)
    const eventId = await made(subscriber)
    await firstAttempts(eventId)
    await dispatcher.firstAttempts.run(eventId, await dispatchInRows(dispatcher, eventId), {
      unrecorded: 'any',
    })
    const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
    expect(row).toMatchObject({ status: 0, attempts: 0, next_attempt_at: until })
    expect(await dispatcher.queues.deliveries.getJob(`dlv_${row?.id}`)).toBeUndefined()
  })

  it('that was banned keep the job of a retry that is due before the ban ends', async () => {
    const subscriber = await anAccount('/later')
    const dueAt = new Date(dispatcher.clock.now().getTime() + 300_000)
    const [row] = await dispatcher.scheduled(subscriber)
    await dispatcher.queues.deliveries.obliterate({ force: true })
    await dispatcher.db.query('update webhook_deliveries set next_attempt_at = $2 where id = $1', [
      row?.id,
      dueAt,
    ])
    await ban(dispatcher.db, subscriber.accountId, new Date(dueAt.getTime() + DAY))
    const eventId = row?.event_id as EventId
    await dispatcher.firstAttempts.run(eventId, await dispatchInRows(dispatcher, eventId), {
      unrecorded: 'any',
    })
    expect(await dispatcher.queues.deliveries.getJob(`dlv_${row?.id}`)).toMatchObject({ delay: 300_000 })
  })

  it('that was banned for a time become due by themselves when it is over', async () => {
    const subscriber = await anAccount('/ended')
    await ban(dispatcher.db, subscriber.accountId, new Date(dispatcher.clock.now().getTime() + DAY))
    await firstAttempts(await made(subscriber))
    expect(received('/ended')).toBe(0)
    dispatcher.clock.advance(DAY + 60_000)
    // Runs the deliveries that the sweeper would find overdue.
    await dispatcher.attempt(...(await deliveriesOf(dispatcher.db, subscriber.accountId)))
    expect(received('/ended')).toBe(1)
  })

  it('are tried again a second later where the ban is just being changed, and hold up nobody', async () => {
    const subscriber = await anAccount('/race')
    const rows = await dispatcher.scheduled(subscriber)
    const until = new Date(dispatcher.clock.now().getTime() + DAY)
    await ban(dispatcher.db, subscriber.accountId, until)
    const run = () => dispatcher.attempts.run(jobOf(rows[0] as DeliveryRow), { wasDeferred: false })
    await dispatcher.db.transaction(async (tx) => {
      await tx.query('update account_states set banned_until = null where account_id = $1', [
        subscriber.accountId,
      ])
      // Each run has read the ban, and only this transaction decides whether the ban stays.
      expect(await Promise.all(Array.from({ length: 8 }, run))).toEqual(
        Array.from({ length: 8 }, () => ({ kind: 'defer', delayMs: 1000 })),
      )
      await moveHeldDeliveries(tx, {
        accountId: subscriber.accountId,
        from: until.toISOString(),
        to: AT_ONCE,
      })
    })
    expect(await run()).toEqual({ kind: 'finished' })
    expect(received('/race')).toBe(1)
  })

  it('go on where the ban is lifted between reading it and holding them', async () => {
    const subscriber = await anAccount('/between')
    const [row] = (await dispatcher.scheduled(subscriber)) as [DeliveryRow]
    const until = new Date(dispatcher.clock.now().getTime() + DAY)
    await ban(dispatcher.db, subscriber.accountId, until)
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({ next_attempt_at: until })
    const snapshots: (DeliverySnapshot | undefined)[] = []
    const deps = { ...dispatcher, retryWhileUnavailable: <T>(work: () => Promise<T>) => work() }
    const due = new DueDeliveries({
      ...deps,
      async findSnapshot(id) {
        const [snapshot] = await findDeliverySnapshots(dispatcher.db, [id])
        if (snapshots.push(snapshot) === 1) await lift(subscriber.accountId, until)
        // Sends nothing: this test is about the second look.
        return snapshots.length === 1 ? (snapshot ?? null) : null
      },
    })
    const lifting = new AttemptService({ ...notUsed(), ...deps, due })
    expect(await lifting.run(jobOf(row), { wasDeferred: false })).toEqual({ kind: 'finished' })
    expect(snapshots).toMatchObject([{ nextAttemptAt: until }, { nextAttemptAt: new Date(AT_ONCE) }])
  })

  it('that is deleted end without an attempt', async () => {
    const subscriber = await anAccount('/deleted')
    const rows = await dispatcher.scheduled(subscriber)
    await dispatcher.db.transaction((tx) => writeTombstone(tx, subscriber.accountId, new Date()))
    await dispatcher.attempt(...rows)
    expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toMatchObject([
      { status: 2, last_error: 'endpoint_deleted' },
    ])
    await closeAccount(dispatcher.db, subscriber.accountId)
    expect(received('/deleted')).toBe(0)
  })
})
