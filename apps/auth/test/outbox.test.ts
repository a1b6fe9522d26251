import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { type Attempt, type OutboxHandler, UndeliverableError } from '../src/outbox/outbox-handler.js'
import { OutboxSender } from '../src/outbox/outbox-sender.js'
import type { OutboxMessage } from '../src/outbox/outbox.js'
import { META } from './support/meta.js'
import { startServer, type TestServer } from './support/server.js'

type Note = { text: string }
type Sent = Note & Attempt

/** Latches that a test opens: what a handler waits for is as slow as the test says. */
function latch() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

let server: TestServer
const stops: (() => Promise<void>)[] = []
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()))
  await server.close()
})

let kinds = 0
/** A kind of its own for each test, so that none sees another's messages. */
const aKind = () => `test_${(kinds += 1)}`

type Undo = { user: string }

function aHandler(overrides: Partial<OutboxHandler<Note, Undo>> & { kind: string }) {
  const sent: Sent[] = []
  const handler: OutboxHandler<Note, Undo> = {
    concurrency: 3,
    ordered: false,
    attemptMs: 5000,
    retryDelayMs: () => 1000,
    ...overrides,
    async send(note, attempt) {
      await overrides.send?.(note, attempt)
      sent.push({ ...note, ...attempt })
    },
  }
  return { handler, sent }
}

/** A sender as a replica of the server runs it. */
function aSender(...handlers: OutboxHandler<Note, Undo>[]) {
  const { db, stores, outbox, audit, observer } = server.context
  const now = server.clock.now
  const shared = { db, presenceDb: db, store: stores.outbox, outbox, audit, observer, now }
  const sender = new OutboxSender({ ...shared, handlers, pollMs: 20 })
  const stop = sender.start()
  stops.push(stop)
  return { sender, stop }
}

const aNote = (kind: string, text: string, more: Partial<OutboxMessage> = {}): OutboxMessage => ({
  kind,
  recipient: text,
  payload: { text },
  expiresAt: null,
  ...more,
})

const add = (...messages: OutboxMessage[]) =>
  server.context.db.transaction(async (tx) => {
    const ids: string[] = []
    for (const message of messages) ids.push(await server.context.outbox.add(tx, message, META))
    return ids
  })

const rowsOf = async (kind: string) => {
  const { rows } = await server.context.db.query<{ id: string; payload: string; attempts: number }>(
    'select id, payload, attempts from outbox where kind = $1',
    [kind],
  )
  return rows
}
const givenUp = async (kind: string) => {
  const { rows } = await server.context.db.query<{ payload: { traits: Record<string, unknown> } }>(
    `select payload from audit_log_entries
     where payload ->> 'action' = 'message_given_up' and payload #>> '{traits,kind}' = $1`,
    [kind],
  )
  return rows.map(({ payload }) => payload.traits)
}
const untilEmpty = (kind: string) => waitFor(async () => (await rowsOf(kind)).length === 0)

describe('the outbox', () => {
  it('sends what a transaction added after it commits, and nothing after a rollback', async () => {
    const kind = aKind()
    const { handler, sent } = aHandler({ kind })
    aSender(handler)
    const failure = server.context.db.transaction(async (tx) => {
      await server.context.outbox.add(tx, aNote(kind, 'never'), META)
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
    const { db, stores, audit, observer, outbox } = server.context
    const start = performance.now()
    const now = () => new Date(server.clock.now().getTime() + performance.now() - start)
    const shared = { db, presenceDb: db, store: stores.outbox, outbox, audit, observer, now }
    const sender = new OutboxSender({ ...shared, handlers: [handler], pollMs: 3_600_000 })
    stops.push(sender.start())
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
    aSender(handler)
    await waitFor(() => sent.length === 1)
  })

  it('gives each message to exactly one of several senders', async () => {
    const kind = aKind()
    const replicas = Array.from({ length: 4 }, () => aHandler({ kind, concurrency: 5 }))
    for (const { handler } of replicas) aSender(handler)
    const texts = Array.from({ length: 60 }, (_, index) => `to ${index}`)
    await Promise.all(texts.map((text) => add(aNote(kind, text))))
    await untilEmpty(kind)
    const sent = replicas.flatMap((replica) => replica.sent.map(({ text }) => text))
    expect(sent.sort()).toEqual([...texts].sort())
  })

  it('passes over a message that another sender is claiming', async () => {
    const kind = aKind()
    const { db, stores } = server.context
    await add(aNote(kind, 'one'))
    const now = server.clock.now()
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

  it('tries again after the delay of the kind, with the same id, and not before', async () => {
    const kind = aKind()
    let failures = 2
    const { handler, sent } = aHandler({
      kind,
      retryDelayMs: (attempts) => attempts * 60_000,
      send: () => (failures-- > 0 ? Promise.reject(new Error('try later')) : Promise.resolve()),
    })
    const { sender } = aSender(handler)
    const [id] = await add(aNote(kind, 'late'))
    const attempted = (attempts: number) =>
      waitFor(async () => (await rowsOf(kind))[0]?.attempts === attempts)
    await attempted(1)
    await sender.settled()
    server.clock.advance(59_999)
    await sender.poll()
    await sender.settled()
    expect((await rowsOf(kind))[0]?.attempts).toBe(1)
    server.clock.advance(1)
    await attempted(2)
    await sender.settled()
    server.clock.advance(120_000)
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
    const { sender } = aSender(handler)
    const expiresAt = new Date(server.clock.now().getTime() + 1500)
    const [id] = await add(aNote(kind, 'too late', { expiresAt, undo: { user: 'somebody' } }))
    await waitFor(async () => (await rowsOf(kind))[0]?.attempts === 1)
    // The attempt counts from its start; its failure must be recorded before the clock moves.
    await sender.settled()
    server.clock.advance(1000)
    await untilEmpty(kind)
    expect(takenBack).toEqual(['somebody'])
    expect(await givenUp(kind)).toEqual([
      { kind, message_id: id, attempts: 2, reason: 'expired', user_id: 'somebody' },
    ])
    expect(await server.context.registry.metrics()).toContain(
      `auth_outbox_given_up_total{kind="${kind}",reason="expired"} 1`,
    )
  })

  it('gives up at once on a permanent refusal', async () => {
    const kind = aKind()
    const { handler } = aHandler({ kind, send: () => Promise.reject(new UndeliverableError('no such user')) })
    aSender(handler)
    await add(aNote(kind, 'refused', { expiresAt: new Date(server.clock.now().getTime() + 86_400_000) }))
    await untilEmpty(kind)
    expect(await givenUp(kind)).toMatchObject([{ attempts: 1, reason: 'refused' }])
  })

  it('gives up on messages encrypted with another key', async () => {
    const kind = aKind()
    const [id] = await add(aNote(kind, 'sealed'))
    await server.context.db.query(
      'update outbox set payload = (select payload from outbox where id <> $1 limit 1) where id = $1',
      [(await add(aNote(kind, 'another')))[0]],
    )
    const { handler, sent } = aHandler({ kind })
    aSender(handler)
    await untilEmpty(kind)
    expect(sent).toMatchObject([{ id }])
    expect(await givenUp(kind)).toMatchObject([{ reason: 'unreadable' }])
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
    aSender(slowOne.handler, fastOne.handler)
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
    aSender(handler)
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
    for (const handler of [replica(), replica(), replica()]) aSender(handler)
    const texts = (who: string) => Array.from({ length: 8 }, (_, index) => `${who} ${index}`)
    await add(...texts('ann').map((text) => aNote(kind, text, { recipient: 'ann' })))
    await add(...texts('bob').map((text) => aNote(kind, text, { recipient: 'bob' })))
    await untilEmpty(kind)
    for (const who of ['ann', 'bob']) expect(all.filter((text) => text.startsWith(who))).toEqual(texts(who))
  })

  it('sends a message again when the sender that claimed it does not report in time', async () => {
    const kind = aKind()
    const [lostAnswers, otherAnswers] = [latch(), latch()]
    const refusal = new UndeliverableError('refused')
    const lost = aHandler({ kind, send: () => lostAnswers.opened.then(() => Promise.reject(refusal)) })
    const { stop } = aSender(lost.handler)
    await add(aNote(kind, 'claimed'))
    await waitFor(async () => (await rowsOf(kind))[0]?.attempts === 1)
    const other = aHandler({ kind, attemptMs: 600_000, send: () => otherAnswers.opened })
    const { sender } = aSender(other.handler)
    await sender.poll()
    await sender.settled()
    expect((await rowsOf(kind))[0]?.attempts).toBe(1)
    // Longer than any attempt takes, and a margin.
    server.clock.advance(5000 + 5000)
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
    const { stop } = aSender(first.handler)
    await add(aNote(kind, 'in hand'), aNote(kind, 'left'))
    await waitFor(async () => (await rowsOf(kind)).some(({ attempts }) => attempts === 1))
    const stopped = stop()
    hold.open()
    await stopped
    expect(first.sent.map(({ text }) => text)).toEqual(['in hand'])
    const next = aHandler({ kind })
    aSender(next.handler)
    await untilEmpty(kind)
    expect(next.sent.map(({ text }) => text)).toEqual(['left'])
  })
})
