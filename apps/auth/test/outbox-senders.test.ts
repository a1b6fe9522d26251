import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Db } from '@signet/db'
import { waitFor } from '@signet/testkit'
import { OutboxSender } from '../src/outbox/outbox-sender.js'
import { META } from './support/meta.js'
import { startServer, type TestServer } from './support/server.js'

const ATTEMPT_MS = 600_000
/** A sender must be away for this long before another one takes over. */
const ABSENCE_MS = 2000

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
let kind = ''
beforeEach(async () => {
  kind = `senders_${(kinds += 1)}`
  await server.context.db.transaction((tx) =>
    server.context.outbox.add(tx, { kind, recipient: kind, payload: {}, expiresAt: null }, META),
  )
})

const row = async () => {
  const { rows } = await server.context.db.query<{ attempts: number; claimed_by: string | null }>(
    'select attempts, claimed_by from outbox where kind = $1',
    [kind],
  )
  return rows[0]
}

/** The senders that show that they are alive, each with the process id of its connection. */
const shown = async () => {
  const { rows } = await server.context.db.query<{ sender: string; pid: number }>(
    `select ((classid::bigint << 32) | objid::bigint)::text as sender, pid from pg_locks
     where locktype = 'advisory' and granted and mode = 'ExclusiveLock'
       and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows
}

/** A sender like the one that a replica of the server runs. It sends whenever the test asks it to. */
function aSender(
  send: () => Promise<void> = () => Promise.resolve(),
  presenceDb: Pick<Db, 'transaction'> = server.context.db,
) {
  const { db, stores, outbox, audit, observer } = server.context
  const handler = {
    kind,
    concurrency: 3,
    ordered: false,
    attemptMs: ATTEMPT_MS,
    retryDelayMs: () => 1000,
    send,
  }
  const shared = { db, presenceDb, store: stores.outbox, outbox, audit, observer, now: server.clock.now }
  const sender = new OutboxSender({ ...shared, handlers: [handler], pollMs: 3_600_000 })
  const stop = sender.start()
  stops.push(stop)
  return {
    stop,
    look: async () => {
      await sender.poll()
      await sender.settled()
    },
  }
}

/** Claims a message and never sends it, like a process that dies while sending. */
const claimAndDie = () => {
  const now = server.clock.now()
  const until = new Date(now.getTime() + ATTEMPT_MS)
  return server.context.stores.outbox.claim(server.context.db, {
    kind,
    ordered: false,
    busy: [],
    now,
    until,
    sender: '77',
  })
}

describe('a claim', () => {
  it('ends once its sender has been gone for two seconds', async () => {
    await claimAndDie()
    const { look } = aSender()
    await look()
    server.clock.advance(ABSENCE_MS - 1)
    await look()
    expect(await row()).toMatchObject({ attempts: 1 })
    server.clock.advance(1)
    await look()
    expect(await row()).toBeUndefined()
  })

  it.each([
    ['the database server started after it', 'claimed_on = claimed_on - interval $$1 second$$'],
    ['the previous version made it later', 'attempts = attempts + 1'],
    ['its sender could not show that it lives', 'claimed_by = null'],
  ])('lasts as long as it may when %s', async (_, change) => {
    await claimAndDie()
    await server.context.db.query(`update outbox set ${change} where kind = $1`, [kind])
    const { look } = aSender()
    const before = await row()
    for (let i = 0; i < 3; i++) {
      await look()
      server.clock.advance(ABSENCE_MS)
    }
    expect(await row()).toEqual(before)
    server.clock.advance(ATTEMPT_MS)
    await look()
    expect(await row()).toBeUndefined()
  })

  it('lasts when its sender lives, also when the database ends the connection by which it shows that', async () => {
    const others = (await shown()).map(({ sender }) => sender)
    let finish = () => {}
    const finished = new Promise<void>((resolve) => (finish = resolve))
    let [sent, comeBack] = [0, Promise.resolve()]
    // The message becomes due only after its sender has shown that it is alive.
    await server.context.db.query('update outbox set next_attempt_at = $2 where kind = $1', [
      kind,
      new Date(server.clock.now().getTime() + 10),
    ])
    const send = () => {
      sent += 1
      return finished
    }
    const living = aSender(send, {
      transaction: (work) => comeBack.then(() => server.context.db.transaction(work)),
    })
    const mine = await waitFor(async () => (await shown()).find(({ sender }) => !others.includes(sender)))
    server.clock.advance(10)
    void living.look()
    await waitFor(async () => (await row())?.claimed_by === mine.sender)

    const { look } = aSender(() => Promise.reject(new Error('sent twice')))
    await look()
    server.clock.advance(10 * ABSENCE_MS)
    await look()
    const connection = async () => (await shown()).find(({ sender }) => sender === mine.sender)?.pid
    for (let times = 0; times < 2; times++) {
      let allow = () => {}
      comeBack = new Promise<void>((resolve) => (allow = resolve))
      await server.context.db.query('select pg_terminate_backend($1)', [await connection()])
      await waitFor(async () => (await connection()) === undefined)
      await look()
      allow()
      await waitFor(connection)
      server.clock.advance(10 * ABSENCE_MS)
      await look()
    }
    expect(await row()).toMatchObject({ attempts: 1, claimed_by: mine.sender })
    finish()
    await living.stop()
    expect(await row()).toBeUndefined()
    expect(sent).toBe(1)
  })

  it('is marked by nobody once its sender has stopped', async () => {
    const others = (await shown()).map(({ sender }) => sender)
    const { stop } = aSender()
    const isShown = async () => (await shown()).some(({ sender }) => !others.includes(sender))
    await waitFor(isShown)
    await stop()
    expect(await isShown()).toBe(false)
  })
})
