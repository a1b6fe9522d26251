import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { META } from './support/meta.js'
import { aHandler, aNote, latch, useOutbox } from './support/outbox.js'

const outbox = useOutbox()
const { aKind, aSender, add, rowsOf, untilEmpty } = outbox

describe('the outbox', () => {
  it('sends what a transaction added after it commits, and nothing after a rollback', async () => {
    const kind = aKind()
    const { handler, sent } = aHandler({ kind })
    aSender([handler])
    const failure = outbox.server.context.db.transaction(async (tx) => {
      await outbox.server.context.outbox.add(tx, aNote(kind, 'never'), META)
      throw new Error('rolled back')
    })
    await expect(failure).rejects.toThrow('rolled back')
    const [id] = await add(aNote(kind, 'sent'))
    await untilEmpty(kind)
    expect(sent).toMatchObject([
      { text: 'sent', id, attempt: 1, meta: { requestId: META.requestId, ip: META.ip } },
    ])
  })

  it('sends what is due later when it is due, not before and without waiting for a poll', async () => {
    const kind = aKind()
    const { handler, sent } = aHandler({ kind })
    const start = performance.now()
    const now = () => new Date(outbox.server.clock.now().getTime() + performance.now() - start)
    const { sender } = aSender([handler], { now, pollMs: 3_600_000 })
    await sender.poll()
    await add({ ...aNote(kind, 'later'), delayMs: 250 })
    await untilEmpty(kind)
    expect(sent).toHaveLength(1)
    expect(performance.now() - start).toBeGreaterThanOrEqual(250)
  })

  it('keeps messages encrypted', async () => {
    const kind = aKind()
    await add(aNote(kind, 'a-secret-token'))
    const [row] = await rowsOf(kind)
    expect(JSON.stringify(row)).not.toContain('secret')
    const { handler, sent } = aHandler({ kind })
    aSender([handler])
    await waitFor(() => sent.length === 1)
  })

  it('gives each message to exactly one of several senders', async () => {
    const kind = aKind()
    const replicas = Array.from({ length: 4 }, () => aHandler({ kind, concurrency: 5 }))
    for (const { handler } of replicas) aSender([handler])
    const texts = Array.from({ length: 60 }, (_, index) => `to ${index}`)
    await Promise.all(texts.map((text) => add(aNote(kind, text))))
    await untilEmpty(kind)
    const sent = replicas.flatMap((replica) => replica.sent.map(({ text }) => text))
    expect(sent.sort()).toEqual([...texts].sort())
  })

  it('passes over a message that another sender is claiming', async () => {
    const kind = aKind()
    const { db, stores } = outbox.server.context
    await add(aNote(kind, 'one'))
    const now = outbox.server.clock.now()
    const claim = {
      kind,
      ordered: false,
      busy: [],
      now,
      until: new Date(now.getTime() + 60_000),
      sender: null,
    }
    await db.transaction(async (tx) => {
      expect(await stores.outbox.claim(tx, claim)).not.toBeNull()
      expect(await stores.outbox.claim(db, claim)).toBeNull()
    })
    expect(await stores.outbox.claim(db, claim)).toBeNull()
  })

  it('does not let a slow kind or a slow recipient hold up others', async () => {
    const [slow, fast] = [aKind(), aKind()]
    const hold = latch()
    const slowOne = aHandler({
      kind: slow,
      concurrency: 2,
      send: ({ text }) => (text.startsWith('slow') ? hold.opened : Promise.resolve()),
    })
    const fastOne = aHandler({ kind: fast })
    aSender([slowOne.handler, fastOne.handler])
    const toSlow = { recipient: 'one slow recipient' }
    await add(...['slow 1', 'slow 2', 'slow 3'].map((text) => aNote(slow, text, toSlow)))
    await add(aNote(slow, 'quick'), aNote(fast, 'at once'))
    await waitFor(() => slowOne.sent.length === 1 && fastOne.sent.length === 1)
    expect(slowOne.sent.map(({ text }) => text)).toEqual(['quick'])
    hold.open()
    await untilEmpty(slow)
    expect(slowOne.sent).toHaveLength(4)
  })

  it('never sends more at a time than the kind allows', async () => {
    const kind = aKind()
    let [underWay, most] = [0, 0]
    const full = latch()
    const { handler, sent } = aHandler({
      kind,
      concurrency: 3,
      async send() {
        most = Math.max(most, (underWay += 1))
        if (underWay === 3) full.open()
        await full.opened
        underWay -= 1
      },
    })
    aSender([handler])
    await add(...Array.from({ length: 30 }, (_, index) => aNote(kind, `to ${index}`)))
    await untilEmpty(kind)
    expect([sent.length, most]).toEqual([30, 3])
  })

  it('keeps an ordered kind in order per recipient, also after failures and across replicas', async () => {
    const kind = aKind()
    const failed = new Set<string>()
    const all: string[] = []
    const replica = () =>
      aHandler({
        kind,
        ordered: true,
        retryDelayMs: () => 0,
        send({ text }) {
          if (!failed.has(text)) {
            failed.add(text)
            return Promise.reject(new Error('the first attempt fails'))
          }
          all.push(text)
          return Promise.resolve()
        },
      }).handler
    for (const handler of [replica(), replica(), replica()]) aSender([handler])
    const texts = (who: string) => Array.from({ length: 8 }, (_, index) => `${who} ${index}`)
    await add(...texts('ann').map((text) => aNote(kind, text, { recipient: 'ann' })))
    await add(...texts('bob').map((text) => aNote(kind, text, { recipient: 'bob' })))
    await untilEmpty(kind)
    for (const who of ['ann', 'bob']) expect(all.filter((text) => text.startsWith(who))).toEqual(texts(who))
  })
})
