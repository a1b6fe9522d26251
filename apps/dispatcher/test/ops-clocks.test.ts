import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { shiftSystemClock } from '@signet/testkit'
import { useOperator } from './support/operator.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const operator = useOperator()

describe.each([
  { clock: 'fast', offsetMs: 3 * HOUR_MS },
  { clock: 'slow', offsetMs: -3 * HOUR_MS },
])('on a machine whose clock is three hours $clock', ({ clock, offsetMs }) => {
  async function run(...argv: string[]) {
    const restore = shiftSystemClock(offsetMs)
    try {
      return await operator.run(...argv)
    } finally {
      restore()
    }
  }

  it('says by the clock of the database whether a ban has ended', async () => {
    const [banned, unbanned] = [randomUUID(), randomUUID()]
    await operator.dispatcher.db.query(
      `insert into account_states (account_id, banned_until, ban_decided_at)
       values ($1, clock_timestamp() + interval '1 hour', clock_timestamp() - interval '2 hours'),
         ($2, clock_timestamp() - interval '1 hour', clock_timestamp() - interval '2 hours')`,
      [banned, unbanned],
    )
    expect((await run('account', banned)).out).toContain(`Account ${banned}: banned until `)
    expect((await run('account', unbanned)).out).toContain(`Account ${unbanned}: in use`)
  })

  it('takes a time since when by the clock of the database', async () => {
    const { endpoint } = await operator.failed(`/since-${clock}`, 1)
    const since = (time: string) => run('requeue', '--endpoint', endpoint.id, '--since', time, '--dry-run')
    const found = { code: 0, out: expect.stringContaining('Would send again: 1\n') as unknown }
    expect(await since('10m')).toMatchObject(found)
    expect(await since(new Date(Date.now() - 10 * MINUTE_MS).toISOString())).toMatchObject(found)
    expect(await since(new Date(Date.now() + HOUR_MS).toISOString())).toMatchObject({
      code: 2,
      err: expect.stringContaining('--since must not be in the future') as unknown,
    })
    await operator.dispatcher.db.query(
      `update webhook_deliveries set created_at = created_at - interval '1 hour' where endpoint_id = $1`,
      [endpoint.id],
    )
    expect(await since('10m')).toMatchObject({ code: 3 })
  })
})
