import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { UndeliverableError } from '../src/outbox/outbox-handler.js'
import { aHandler, aNote, latch, useOutbox } from './support/outbox.js'

const outbox = useOutbox()
const { aKind, aSender, add, givenUp, rowsOf, untilEmpty } = outbox

describe('the outbox, when a message is not sent at once', () => {
  it('tries again after the delay of the kind, with the same id, and not before', async () => {
    const kind = aKind()
    let failures = 2
    const { handler, sent } = aHandler({
      kind,
      retryDelayMs: (attempts) => attempts * 60_000,
      send: () => (failures-- > 0 ? Promise.reject(new Error('try later')) : Promise.resolve()),
    })
    const { sender } = aSender([handler])
    const [id] = await add(aNote(kind, 'late'))
    const attempted = (attempts: number) =>
      waitFor(async () => (await rowsOf(kind))[0]?.attempts === attempts)
    await attempted(1)
    await sender.settled()
    outbox.server.clock.advance(59_999)
    await sender.poll()
    await sender.settled()
    expect((await rowsOf(kind))[0]?.attempts).toBe(1)
    outbox.server.clock.advance(1)
    await attempted(2)
    await sender.settled()
    outbox.server.clock.advance(120_000)
    await untilEmpty(kind)
    expect(sent).toMatchObject([{ id, attempt: 3 }])
  })

  it('gives up visibly when the message would expire before another attempt, together with what depends on it', async () => {
    const kind = aKind()
    const takenBack: string[] = []
    const { handler } = aHandler({
      kind,
      send: () => Promise.reject(new Error('away')),
      givenUp: (_tx, { user }) => {
        takenBack.push(user)
        return Promise.resolve({ user_id: user })
      },
    })
    const { sender } = aSender([handler])
    const expiresAt = new Date(outbox.server.clock.now().getTime() + 1500)
    const [id] = await add(aNote(kind, 'too late', { expiresAt, undo: { user: 'somebody' } }))
    await waitFor(async () => (await rowsOf(kind))[0]?.attempts === 1)
    // The attempt counts from its start; its failure must be recorded before the clock moves.
    await sender.settled()
    outbox.server.clock.advance(1000)
    await untilEmpty(kind)
    expect(takenBack).toEqual(['somebody'])
    expect(await givenUp(kind)).toEqual([
      { kind, message_id: id, attempts: 2, reason: 'expired', user_id: 'somebody' },
    ])
    expect(await outbox.server.context.registry.metrics()).toContain(
      `auth_outbox_given_up_total{kind="${kind}",reason="expired"} 1`,
    )
  })

  it('gives up at once on a permanent refusal', async () => {
    const kind = aKind()
    const { handler } = aHandler({ kind, send: () => Promise.reject(new UndeliverableError('no such user')) })
    aSender([handler])
    await add(
      aNote(kind, 'refused', { expiresAt: new Date(outbox.server.clock.now().getTime() + 86_400_000) }),
    )
    await untilEmpty(kind)
    expect(await givenUp(kind)).toMatchObject([{ attempts: 1, reason: 'refused' }])
  })

  it('gives up on messages encrypted with another key', async () => {
    const kind = aKind()
    const [id] = await add(aNote(kind, 'sealed'))
    await outbox.server.context.db.query(
      'update outbox set payload = (select payload from outbox where id <> $1 limit 1) where id = $1',
      [(await add(aNote(kind, 'another')))[0]],
    )
    const { handler, sent } = aHandler({ kind })
    aSender([handler])
    await untilEmpty(kind)
    expect(sent).toMatchObject([{ id }])
    expect(await givenUp(kind)).toMatchObject([{ reason: 'unreadable' }])
  })

  it('sends a message again when the sender that claimed it does not report in time', async () => {
    const kind = aKind()
    const [lostAnswers, otherAnswers] = [latch(), latch()]
    const refusal = new UndeliverableError('refused')
    const lost = aHandler({ kind, send: () => lostAnswers.opened.then(() => Promise.reject(refusal)) })
    const { stop } = aSender([lost.handler])
    await add(aNote(kind, 'claimed'))
    await waitFor(async () => (await rowsOf(kind))[0]?.attempts === 1)
    const other = aHandler({ kind, attemptMs: 600_000, send: () => otherAnswers.opened })
    const { sender } = aSender([other.handler])
    await sender.poll()
    await sender.settled()
    expect((await rowsOf(kind))[0]?.attempts).toBe(1)
    // Longer than any attempt takes, plus a margin.
    outbox.server.clock.advance(5000 + 5000)
    await waitFor(async () => (await rowsOf(kind))[0]?.attempts === 2)
    // A late report must not end an attempt that another sender is making.
    lostAnswers.open()
    await stop()
    expect(await rowsOf(kind)).toHaveLength(1)
    otherAnswers.open()
    await untilEmpty(kind)
    expect(other.sent).toHaveLength(1)
    expect(await givenUp(kind)).toEqual([])
  })

  it('finishes messages in flight when it stops, and leaves the rest to the next process', async () => {
    const kind = aKind()
    const hold = latch()
    const first = aHandler({ kind, concurrency: 1, send: () => hold.opened })
    const { stop } = aSender([first.handler])
    await add(aNote(kind, 'in flight'), aNote(kind, 'left'))
    await waitFor(async () => (await rowsOf(kind)).some(({ attempts }) => attempts === 1))
    const stopped = stop()
    hold.open()
    await stopped
    expect(first.sent.map(({ text }) => text)).toEqual(['in flight'])
    const next = aHandler({ kind })
    aSender([next.handler])
    await untilEmpty(kind)
    expect(next.sent.map(({ text }) => text)).toEqual(['left'])
  })
})
