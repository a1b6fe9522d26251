import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { firstEventIdAt } from '@signet/webhook-core'
import { aDoorTo, shiftSystemClock } from '@signet/testkit'
import { aNotice } from './support/api-data.js'
import { aCopy, SERVICE_TOKEN, startHarness, type Harness } from './support/harness.js'

const MINUTE_MS = 60_000
/** Half of the error of the clock. */
const TOLERANCE_MS = 5 * MINUTE_MS

let restore = () => {}
let harness: Harness
const closeLater: (() => Promise<unknown>)[] = []
afterEach(async () => {
  restore()
  await harness.close()
  for (const close of closeLater.splice(0)) await close()
})

const call = (path: string, body: object) =>
  fetch(`${harness.internal}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SERVICE_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** The times that the service set, in milliseconds after the time of the database. */
async function decidedTimes() {
  const accountId = randomUUID()
  const notice = {
    summaries: [{ label: 'Summary', content: 'Short', format: 'markdown' }],
    transcript: { text: 'Hello' },
    recording: { title: 'Meeting' },
  }
  expect((await call('/internal/v1/summary-ready', aNotice(accountId, notice))).status).toBe(202)
  expect((await call(`/internal/v1/accounts/${accountId}/revoke`, {})).status).toBe(200)
  const { rows } = await harness.db.query<{
    now: Date
    id: string
    created: Date
    body: string
    signed_out: Date
  }>(
    `select clock_timestamp() as now, e.id, e.created_at as created, e.body, s.signed_out_at as signed_out
     from webhook_events e join account_states s using (account_id) where account_id = $1`,
    [accountId],
  )
  const [row] = rows
  if (!row) throw new Error('no event')
  const { created_at: inBody } = JSON.parse(row.body) as { created_at: string }
  const late = (time: Date) => time.getTime() - row.now.getTime()
  const earliest = firstEventIdAt(new Date(row.now.getTime() - TOLERANCE_MS))
  const latest = firstEventIdAt(new Date(row.now.getTime() + TOLERANCE_MS))
  return {
    times: [row.created, new Date(inBody), row.signed_out].map(late),
    isIdInOrder: row.id > earliest && row.id < latest,
  }
}

describe.each([
  { clock: 'fast', offsetMs: 10 * MINUTE_MS },
  { clock: 'slow', offsetMs: -10 * MINUTE_MS },
])('a process whose clock is ten minutes $clock', ({ offsetMs }) => {
  const expectRight = async () => {
    const { times, isIdInOrder } = await decidedTimes()
    expect(times.filter((late) => Math.abs(late) > TOLERANCE_MS)).toEqual([])
    expect(isIdInOrder).toBe(true)
  }

  it('dates what it stores by the clock of the database', async () => {
    restore = shiftSystemClock(offsetMs)
    harness = await startHarness({ usesSharedClock: true })
    await expectRight()
  })

  it('does so if the clock jumps while it runs', async () => {
    harness = await startHarness({ usesSharedClock: true })
    restore = shiftSystemClock(offsetMs)
    await expectRight()
  })
})

it('a process whose clock is fast, started without its database, takes in nothing until it knows the time', async () => {
  const database = await aCopy()
  const door = await aDoorTo(database.url)
  closeLater.push(
    () => door.close(),
    () => database.drop(),
  )
  restore = shiftSystemClock(10 * MINUTE_MS)
  harness = await startHarness({
    usesSharedClock: true,
    databaseUrl: database.url,
    env: { WEBHOOKS_DATABASE_URL: door.url },
  })
  const notice = aNotice(randomUUID(), {
    summaries: [{ label: 'Summary', content: 'x', format: 'markdown' }],
  })
  expect((await call('/internal/v1/summary-ready', notice)).status).toBe(503)
  const registration = await fetch(`${harness.base}/oauth/register`, { method: 'POST', body: '{}' })
  expect([registration.status, await registration.json()]).toEqual([
    503,
    expect.objectContaining({ error: 'temporarily_unavailable' }),
  ])
  expect((await fetch(`${harness.internal}/healthz`)).status).toBe(200)
  door.open()
  const { times, isIdInOrder } = await decidedTimes()
  expect(times.filter((late) => Math.abs(late) > TOLERANCE_MS)).toEqual([])
  expect(isIdInOrder).toBe(true)
})
