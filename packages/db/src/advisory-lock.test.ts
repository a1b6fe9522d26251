import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { startLine } from '../test/line.js'
import { ownDatabase } from '../test/own-database.js'
import { Db, isUnavailable, withAdvisoryLock } from './index.js'

const { url, db } = ownDatabase('locks')
/** Generous, because a busy machine may stall a process for seconds. */
const TIMEOUT_MS = 5_000

describe('withAdvisoryLock', () => {
  it('lets exactly one of many simultaneous callers in, and the next one after it', async () => {
    const gate = deferred()
    const inside = deferred()
    const first = withAdvisoryLock(db, 'job', async () => {
      inside.resolve()
      await gate.promise
      return 'first'
    })
    await inside.promise
    const others = Promise.all(
      [1, 2, 3].map(() => withAdvisoryLock(db, 'job', () => Promise.resolve('other'))),
    )
    expect(await others).toEqual([undefined, undefined, undefined])
    gate.resolve()
    expect(await first).toBe('first')
    expect(await withAdvisoryLock(db, 'job', () => Promise.resolve('next'))).toBe('next')
  })

  it('is free again once its holder has gone silent, and tells that holder', async () => {
    const line = await startLine(url)
    const holder = new Db({ connectionString: line.url, max: 1 })
    const inside = deferred()
    const held = withAdvisoryLock(
      holder,
      'lost',
      (lost) =>
        line.silence(async () => {
          inside.resolve()
          await new Promise((resolve) => lost.addEventListener('abort', resolve))
        }),
      { timeoutMs: 300 },
    ).catch((reason: unknown) => reason)
    await inside.promise
    while ((await withAdvisoryLock(db, 'lost', () => Promise.resolve('next'))) !== 'next') await sleep(20)
    expect(isUnavailable(await held)).toBe(true)
    line.close()
    await holder.close()
  })

  it('stays with a holder that works for longer than that', async () => {
    const holder = new Db({ connectionString: url, max: 1, applicationName: 'patient-holder' })
    const renewals = async () =>
      (
        await db.query<{ late: boolean }>(
          `select state_change - xact_start > interval '${TIMEOUT_MS} ms' as late
           from pg_stat_activity where application_name = 'patient-holder'`,
        )
      ).rows[0]?.late
    const result = await withAdvisoryLock(
      holder,
      'kept',
      async (lost) => {
        while (!(await renewals())) {
          lost.throwIfAborted()
          await sleep(50)
        }
        return withAdvisoryLock(db, 'kept', () => Promise.resolve('other'))
      },
      { timeoutMs: TIMEOUT_MS },
    )
    expect(result).toBeUndefined()
    expect(await withAdvisoryLock(db, 'kept', () => Promise.resolve('next'))).toBe('next')
    await holder.close()
  })

  it('passes on what the work failed with, and is free then', async () => {
    const failure = new Error('no')
    await expect(withAdvisoryLock(db, 'fails', () => Promise.reject(failure))).rejects.toBe(failure)
    expect(await withAdvisoryLock(db, 'fails', () => Promise.resolve('next'))).toBe('next')
  })
})

describe('a connection', () => {
  it('lets the server notice a client that is gone without a word', async () => {
    const { rows } = await db.query(
      `select name, setting::integer from pg_settings where name like 'tcp\\_%' and source = 'client' order by name`,
    )
    expect(rows).toEqual([
      { name: 'tcp_keepalives_count', setting: 3 },
      { name: 'tcp_keepalives_idle', setting: 5 },
      { name: 'tcp_keepalives_interval', setting: 2 },
      { name: 'tcp_user_timeout', setting: 10_000 },
    ])
  })
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve: () => resolve() }
}
