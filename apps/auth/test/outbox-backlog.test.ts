import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { lockWaiters, waitFor } from '@signet/testkit'
import type { OutboxHandler } from '../src/outbox/outbox-handler.js'
import { OutboxSender } from '../src/outbox/outbox-sender.js'
import type { ClaimedRow } from '../src/outbox/outbox-store.js'
import type { OutboxMessage } from '../src/outbox/outbox.js'
import { META } from './support/meta.js'
import { startServer, type TestServer } from './support/server.js'

const BACKLOG = 300
const FLOODED = 'the one with a backlog'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

let kinds = 0
let kind = ''
beforeEach(() => {
  kind = `backlog_${(kinds += 1)}`
})

const add = (recipient: string, more: Partial<OutboxMessage> = {}) =>
  server.context.db.transaction((tx) =>
    server.context.outbox.add(tx, { kind, recipient, payload: {}, expiresAt: null, ...more }, META),
  )

const claimThrough = (db: Queryable, ordered: boolean, busy: readonly Buffer[] = []) => {
  const now = server.clock.now()
  const until = new Date(now.getTime() + 60_000)
  return server.context.stores.outbox.claim(db, { kind, ordered, busy, now, until, sender: null })
}

/** For each message of the kind, in order, whether it is behind another one. */
const waiting = async () => {
  const { rows } = await server.context.db.query<{ behind: boolean }>(
    'select behind from outbox where kind = $1 order by position',
    [kind],
  )
  return rows.map(({ behind }) => behind)
}

/** A sender like the one that a replica of the server runs. */
function aSender(handler: OutboxHandler<{ text: string }>) {
  const { db, stores, outbox, audit, observer } = server.context
  const now = server.clock.now
  const sender = new OutboxSender({
    db,
    presenceDb: db,
    store: stores.outbox,
    outbox,
    audit,
    observer,
    now,
    handlers: [handler],
    pollMs: 20,
  })
  return { stop: sender.start() }
}

function aSenderThatFails(rules: Omit<OutboxHandler<{ text: string }>, 'kind' | 'send'>) {
  const sent: string[] = []
  const send = ({ text }: { text: string }) =>
    text === 'fails' ? Promise.reject(new Error('away')) : Promise.resolve(void sent.push(text))
  return { sent, ...aSender({ ...rules, kind, send }) }
}

type PlanNode = {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}
const rowsRead = (node: PlanNode): number => {
  const read = node['Relation Name'] ? node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) : 0
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), read * node['Actual Loops'])
}

/** How many rows of the table PostgreSQL reads for one claim. The claim itself is undone. */
async function readByClaim(ordered: boolean, busy: readonly ClaimedRow[]): Promise<number> {
  let read = 0
  const undone = new Error('undone')
  const work = server.context.db.transaction(async (tx) => {
    // Makes PostgreSQL use the indexes, as it does in a large table.
    await tx.query('set local enable_seqscan = off')
    await tx.query('set local enable_bitmapscan = off')
    const spy: Queryable = {
      async query<R extends object>(statement: string | { text: string }, values?: readonly unknown[]) {
        const text = typeof statement === 'string' ? statement : statement.text
        const { rows } = await tx.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
          `explain (analyze, format json) ${text}`,
          values,
        )
        read += rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan)
        return { rows: [] as R[], rowCount: 0 }
      },
    }
    await claimThrough(
      spy,
      ordered,
      busy.map(({ recipient }) => recipient),
    )
    throw undone
  })
  await work.catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return read
}

describe.each([
  ['an ordered kind', true],
  ['any other kind', false],
])('a backlog of one recipient, in %s', (_name, ordered) => {
  it('costs a claim for another recipient no more than a single message does', async () => {
    await add(FLOODED)
    await add('another recipient')
    const first = (await claimThrough(server.context.db, ordered))!
    const withoutBacklog = await readByClaim(ordered, [first])
    for (let count = 0; count < BACKLOG; count += 1) await add(FLOODED)
    expect(await readByClaim(ordered, [first])).toBeLessThanOrEqual(withoutBacklog + 4)
  })
  it('is sent, also by several replicas and where each message fails once', async () => {
    const failed = new Set<string>()
    const sent: string[] = []
    const handler: OutboxHandler<{ text: string }> = {
      kind,
      ordered,
      concurrency: 3,
      attemptMs: 5000,
      retryDelayMs: () => 0,
      send({ text }) {
        if (failed.has(text)) return Promise.resolve(void sent.push(text))
        failed.add(text)
        return Promise.reject(new Error('the first attempt fails'))
      },
    }
    const stops = [1, 2, 3].map(() => aSender(handler).stop)
    const texts = Array.from({ length: 60 }, (_, index) => `${index % 3} ${index}`)
    await Promise.all(texts.map((text) => add(`recipient ${text[0]}`, { payload: { text } })))
    await waitFor(async () => (await waiting()).length === 0)
    for (const stop of stops) await stop()
    expect(sent.sort()).toEqual(texts.sort())
  })
})

describe('a message behind one that fails', () => {
  const failing: Omit<OutboxHandler<{ text: string }>, 'kind' | 'send'> = {
    ordered: false,
    concurrency: 3,
    attemptMs: 5000,
    retryDelayMs: () => 3_600_000,
  }

  it('does not wait for the next attempt, unless the kind is ordered', async () => {
    await add(FLOODED, { payload: { text: 'fails' } })
    for (const text of ['second', 'third']) await add(FLOODED, { payload: { text } })
    expect(await waiting()).toEqual([false, true, true])
    const { sent, stop } = aSenderThatFails(failing)
    await waitFor(() => sent.length === 2)
    await stop()
    expect(sent).toEqual(['second', 'third'])
  })

  it('does not either when it is being added at that moment', async () => {
    await add(FLOODED, { payload: { text: 'fails' } })
    const { sent, stop } = await server.context.db.transaction(async (tx) => {
      const second = { kind, recipient: FLOODED, payload: { text: 'second' }, expiresAt: null }
      await server.context.outbox.add(tx, second, META)
      const started = aSenderThatFails(failing)
      // Recording the failure waits for the transaction that adds the second message.
      await lockWaiters(server.context.db, 1)
      return started
    })
    await waitFor(() => sent.length === 1)
    await stop()
  })
})
