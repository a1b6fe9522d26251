import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { listen, type Listener } from '@signet/http'
import { createLogger } from '@signet/telemetry'
import { lockWaiters, waitFor } from '@signet/testkit'
import { createContext, type AuthContext } from '../src/context.js'
import { startServer, type TestServer } from './support/server.js'

type Told = { type: string; data: { user_id: string } }
type Message = Told & { id: string | string[] | undefined }

/** The receiver answers 503 while this is true. */
let isAway = true
let told: Message[] = []
let receiver: Listener
let server: TestServer
beforeAll(async () => {
  receiver = await listen(
    (req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => {
        const message = JSON.parse(Buffer.concat(chunks).toString()) as Told
        if (!isAway) told.push({ ...message, id: req.headers['webhook-id'] })
        res.writeHead(isAway ? 503 : 204).end()
      })
    },
    { port: 0, host: '127.0.0.1' },
  )
  server = await startServer(
    {
      AUTH_EVENTS_URL: `http://127.0.0.1:${receiver.port}/`,
      AUTH_EVENTS_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    },
    { now: () => new Date() },
  )
})
afterAll(async () => {
  await server.close()
  await receiver.close(0)
})
beforeEach(() => {
  isAway = true
  told = []
})

const users = (count: number) => Array.from({ length: count }, () => randomUUID())
/** Adds `count` events for each user, in order: 1, 2, 3. */
const tell = (ids: readonly string[], count: number) =>
  server.context.db.query(
    `select tell_account_event(id, n::text, now(), '{}')
     from generate_series(1, $2) n cross join unnest($1::uuid[]) as id order by n`,
    [ids, count],
  )
/**
 * The types of a user's events without repetitions: an attempt that a busy machine delays past its timeout is repeated under the same id.
 */
const typesOf = (user: string) => {
  const messages = new Map(told.filter(({ data }) => data.user_id === user).map(({ id, type }) => [id, type]))
  return [...messages.values()]
}
const count = async (condition: string) => {
  const { rows } = await server.context.db.query<{ n: number }>(
    `select count(*)::int as n from outbox where kind = 'account_event' and ${condition}`,
  )
  return rows[0]?.n
}
const allSent = () => waitFor(async () => (await count('true')) === 0)

it('leaves to the claims nothing but the first event of each user, however many wait behind it', async () => {
  await tell(users(5), 400)
  expect(await count('true')).toBe(2000)
  // The index that claims use leads to these events only.
  expect(await count('not behind')).toBe(5)
  isAway = false
  await server.context.db.query(`delete from outbox where position > (select min(position) + 50 from outbox)`)
  await allSent()
})

it('sends the events of each user in order, by whichever of several replicas', async () => {
  const ids = users(6)
  await tell(ids, 10)
  const replicas: AuthContext[] = []
  for (let started = 0; started < 2; started += 1)
    replicas.push(
      await createContext(server.context.config, {
        log: createLogger({ level: 'error', component: 'api', sink: () => undefined }),
        now: () => new Date(),
      }),
    )
  const stops = replicas.map(({ outboxSender }) => outboxSender.start())
  isAway = false
  try {
    await tell(ids, 10)
    await allSent()
  } finally {
    for (const stop of stops) await stop()
    for (const replica of replicas) await replica.close()
  }
  const once = Array.from({ length: 10 }, (_, n) => String(n + 1))
  expect(ids.map(typesOf)).toEqual(ids.map(() => [...once, ...once]))
})

it('sends an event that is decided while the one in front of it is being removed', async () => {
  const [id = ''] = users(1)
  await tell([id], 1)
  await server.context.db.transaction(async (tx) => {
    await tx.query(`select tell_account_event($1, 'second', now(), '{}')`, [id])
    isAway = false
    // The first event is sent, and its removal waits for the transaction that adds the second.
    await lockWaiters(server.context.db, 1)
  })
  await allSent()
  expect(typesOf(id)).toEqual(['1', 'second'])
})

it('sends an event that is decided while the one in front of it has just gone', async () => {
  const { db } = server.context
  const [id = ''] = users(1)
  await tell([id], 1)
  await db.transaction(async (tx) => {
    await tx.query(`delete from outbox where payload like '%' || $1 || '%'`, [id])
    isAway = false
    // Adding an event does not wait for that removal.
    await db.query(`select tell_account_event($1, 'second', now(), '{}')`, [id])
  })
  await allSent()
  expect(typesOf(id)).toEqual(['second'])
})

it('sends an event behind two that are removed at the same time', async () => {
  const { db } = server.context
  const [id = ''] = users(1)
  const one = (event: string) => db.query(`select tell_account_event($1, $2, now(), '{}')`, [id, event])
  // Neither transaction sees the event of the other, so both events are due.
  await db.transaction(async (tx) => {
    await tx.query(`select tell_account_event($1, '1', now(), '{}')`, [id])
    await one('2')
  })
  await one('third')
  const removing = `delete from outbox where payload::jsonb ->> 'type' = $2 and payload like '%' || $1 || '%'`
  const { other } = await db.transaction(async (tx) => {
    await tx.query(removing, [id, '1'])
    const pending = db.query(removing, [id, '2'])
    await Promise.race([pending, lockWaiters(server.context.db, 1)])
    return { other: pending }
  })
  await other
  isAway = false
  await allSent()
  expect(typesOf(id)).toEqual(['third'])
})
