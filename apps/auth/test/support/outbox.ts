import { afterAll, beforeAll } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { Attempt, OutboxHandler } from '../../src/outbox/outbox-handler.js'
import { OutboxSender } from '../../src/outbox/outbox-sender.js'
import type { OutboxMessage } from '../../src/outbox/outbox.js'
import { META } from './meta.js'
import { startServer, type TestServer } from './server.js'

type Note = { text: string }
type Sent = Note & Attempt
type Undo = { user: string }

/** Lets a test hold up a handler: `opened` resolves when the test calls `open`. */
export function latch() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

export function aHandler(overrides: Partial<OutboxHandler<Note, Undo>> & { kind: string }) {
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

export const aNote = (kind: string, text: string, more: Partial<OutboxMessage> = {}): OutboxMessage => ({
  kind,
  recipient: text,
  payload: { text },
  expiresAt: null,
  ...more,
})

/** Starts a server for the tests of a file, and gives them its outbox and senders for handlers that they make. */
export function useOutbox() {
  let server: TestServer | undefined
  const stops: (() => Promise<void>)[] = []
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()))
    await server?.close()
  })
  const running = () => {
    if (server === undefined) throw new Error('the server is there from beforeAll on')
    return server
  }
  let kinds = 0

  async function rowsOf(kind: string) {
    const { rows } = await running().context.db.query<{ id: string; payload: string; attempts: number }>(
      'select id, payload, attempts from outbox where kind = $1',
      [kind],
    )
    return rows
  }

  /** A sender like the one that a replica of the server runs. */
  function aSender(
    handlers: readonly OutboxHandler<Note, Undo>[],
    { now = running().clock.now, pollMs = 20 }: { now?: () => Date; pollMs?: number } = {},
  ) {
    const { db, stores, outbox, audit, observer } = running().context
    const shared = { db, presenceDb: db, store: stores.outbox, outbox, audit, observer, now, pollMs }
    const sender = new OutboxSender({ ...shared, handlers })
    const stop = sender.start()
    stops.push(stop)
    return { sender, stop }
  }

  async function givenUp(kind: string) {
    const { rows } = await running().context.db.query<{ payload: { traits: Record<string, unknown> } }>(
      `select payload from audit_log_entries
       where payload ->> 'action' = 'message_given_up' and payload #>> '{traits,kind}' = $1`,
      [kind],
    )
    return rows.map(({ payload }) => payload.traits)
  }

  return {
    get server() {
      return running()
    },
    rowsOf,
    givenUp,
    aSender,
    /** A new kind for each test, so that no test sees another's messages. */
    aKind: () => `test_${(kinds += 1)}`,

    add: (...messages: OutboxMessage[]) =>
      running().context.db.transaction(async (tx) => {
        const ids: string[] = []
        for (const message of messages) ids.push(await running().context.outbox.add(tx, message, META))
        return ids
      }),

    untilEmpty: (kind: string) => waitFor(async () => (await rowsOf(kind)).length === 0),
  }
}
