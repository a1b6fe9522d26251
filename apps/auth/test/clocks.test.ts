import { afterEach, describe, expect, it } from '@jest/globals'
import { shiftSystemClock } from '@signet/testkit'
import { aUser, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf } from './support/tokens.js'

const OFFSET_MS = 600_000
/** Half of what the clock is wrong by. */
const TOLERANCE_MS = OFFSET_MS / 2

let restore = () => {}
let server: TestServer
afterEach(async () => {
  restore()
  await server.close()
})

async function start(): Promise<void> {
  server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' }, { now: undefined })
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
}

/** When a session begins, for what is stored and for the claims of its token, in milliseconds after the time of the database. */
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
