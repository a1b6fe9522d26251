import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { aDoorTo, shiftSystemClock, waitFor, type DatabaseDoor, type TestDatabase } from '@signet/testkit'
import { anEmail, aUser, expectError, PASSWORD, post } from './support/api.js'
import { startServed, startServer, testDatabase, type TestServer } from './support/server.js'
import { claimsOf } from './support/tokens.js'

const DAY_MS = 86_400_000
const OFFSET_MS = 600_000
/** Half of the clock's offset. */
const TOLERANCE_MS = OFFSET_MS / 2

let restore = () => {}
let server: TestServer
afterEach(() => restore())

async function start(): Promise<void> {
  server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' }, { now: undefined })
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
}

/** How far the start of a session lies ahead of the database's time, as stored and as its token claims it, in milliseconds. */
async function begunAfter(): Promise<number[]> {
  const { access_token: token } = await aUser(server)
  const { iat, session_id: id } = claimsOf(token)
  const { rows } = await server.context.db.query<{ stored: Date; now: Date }>(
    'select created_at as stored, clock_timestamp() as now from sessions where id = $1',
    [id],
  )
  return rows.flatMap(({ stored, now }) =>
    [stored.getTime(), Number(iat) * 1000].map((at) => at - now.getTime()),
  )
}

describe.each([
  { clock: 'fast', offsetMs: OFFSET_MS },
  { clock: 'slow', offsetMs: -OFFSET_MS },
])('a server whose clock is ten minutes $clock', ({ offsetMs }) => {
  afterEach(() => server.close())
  const expectRight = async () => {
    const times = await begunAfter()
    expect(times).toHaveLength(2)
    expect(times.filter((late) => Math.abs(late) > TOLERANCE_MS)).toEqual([])
  }

  it('dates sessions and tokens by the clock of the database', async () => {
    restore = shiftSystemClock(offsetMs)
    await start()
    await expectRight()
  })

  it('does so if the clock jumps while it runs', async () => {
    await start()
    restore = shiftSystemClock(offsetMs)
    await expectRight()
  })

  it('ends no session whose tabs refresh at the same time, one of them through another server', async () => {
    await start()
    const { refresh_token: shared } = await aUser(server)
    const refresh = () => post(server, '/token?grant_type=refresh_token', { refresh_token: shared })
    const first = await refresh()
    restore = shiftSystemClock(offsetMs)
    const second = await refresh()
    expect([second.status, second.body['refresh_token']]).toEqual([200, first.body['refresh_token']])
  })
})

describe('a server whose clock is two days fast, started without its database', () => {
  let database: TestDatabase
  let db: Db
  let door: DatabaseDoor
  beforeEach(async () => {
    database = await testDatabase()
    db = new Db({ connectionString: database.url, max: 1 })
    door = await aDoorTo(database.url)
  })
  afterEach(async () => {
    await door.close()
    await db.close()
    await database.drop()
  })
  const signUp = ({ url }: { url: string }) =>
    post({ url }, '/signup', { email: anEmail(), password: PASSWORD })

  it('dates the first request by the clock of the database, and refuses it before', async () => {
    restore = shiftSystemClock(2 * DAY_MS)
    const served = await startServed({ DATABASE_URL: door.url, AUTH_MAILER_AUTOCONFIRM: 'true' })
    try {
      expectError(await signUp(served), 503, 'unavailable')
      door.open()
      await waitFor(async () => (await signUp(served)).status === 200)
      const { rows } = await db.query<{ late: boolean }>(
        `select created_at > now() + interval '1 day' as late from users
         union all select created_at > now() + interval '1 day' from sessions`,
      )
      expect(rows).toEqual([{ late: false }, { late: false }])
    } finally {
      await served.close()
    }
  })

  it('sends the messages that wait, of which none is too old', async () => {
    const before = await startServed({ DATABASE_URL: database.url, AUTH_SMTP_PORT: '1' })
    expect((await signUp(before)).status).toBe(200)
    await waitFor(async () => (await db.query('select 1 from outbox where attempts > 0')).rowCount === 1)
    await before.close()
    await db.query('update outbox set next_attempt_at = now()')
    restore = shiftSystemClock(2 * DAY_MS)
    const served = await startServed({ DATABASE_URL: door.url, AUTH_OUTBOX_POLL_INTERVAL: '10ms' })
    try {
      door.open()
      await waitFor(async () => (await db.query('select 1 from outbox')).rowCount === 0)
      expect(served.inbox.messages({})).toHaveLength(1)
    } finally {
      await served.close()
    }
  })
})
