import { describe, expect, it } from '@jest/globals'
import type { Queryable } from './db.js'
import { SharedClock } from './shared-clock.js'

const NOON = Date.parse('2030-01-01T12:00:00.000Z')

/** A process whose clock starts at `systemMs`, and a database that takes its time to answer. */
function aProcess({ systemMs = NOON }: { systemMs?: number } = {}) {
  let steadyMs = 5000
  const database = { ahead: 0, requestMs: 0, answerMs: 0, isDown: false }
  const db = {
    query: () => {
      if (database.isDown) return Promise.reject(new Error('down'))
      steadyMs += database.requestMs
      const ms = NOON + steadyMs - 5000 + database.ahead
      steadyMs += database.answerMs
      return Promise.resolve({ rows: [{ ms }], rowCount: 1 })
    },
  } as unknown as Queryable
  const clock = new SharedClock(db, { steadyMs: () => steadyMs, systemMs: () => systemMs })
  return {
    clock,
    database,
    pass: (ms: number) => (steadyMs += ms),
    /** By how many milliseconds the shared clock is ahead of the database. */
    error: () => clock.now().getTime() - (NOON + steadyMs - 5000 + database.ahead),
  }
}

describe('SharedClock', () => {
  it.each([-600_000, 0, 600_000])(
    'shows the time of the database where the system is %d ms off',
    async (off) => {
      const { clock, error, pass } = aProcess({ systemMs: NOON + off })
      expect([clock.isKnown, error()]).toEqual([false, off])
      await clock.adjust()
      expect(clock.isKnown).toBe(true)
      expect(error()).toBe(0)
      pass(3600_000)
      expect(error()).toBe(0)
    },
  )

  it('is off by no more than half of what the first answer took, and becomes more exact with faster ones', async () => {
    const { clock, database, error } = aProcess({ systemMs: 0 })
    Object.assign(database, { requestMs: 0, answerMs: 100 })
    await clock.adjust()
    expect(Math.abs(error())).toBe(50)
    Object.assign(database, { requestMs: 1, answerMs: 1 })
    await clock.adjust()
    expect(Math.abs(error())).toBeLessThanOrEqual(2)
  })

  it('is not moved by slow answers', async () => {
    const { clock, database, error } = aProcess()
    await clock.adjust()
    for (const [requestMs, answerMs] of [
      [30_000, 0],
      [0, 30_000],
      [15_000, 15_000],
    ]) {
      Object.assign(database, { requestMs, answerMs })
      await clock.adjust()
      expect(error()).toBe(0)
    }
  })

  it.each([-600_000, 600_000])('follows a database whose clock jumps by %d ms', async (ahead) => {
    const { clock, database, error } = aProcess()
    await clock.adjust()
    Object.assign(database, { ahead, requestMs: 5, answerMs: 5 })
    await clock.adjust()
    expect(Math.abs(error())).toBeLessThanOrEqual(10)
  })

  it('goes on as it is while the database does not answer', async () => {
    const { clock, database, error, pass } = aProcess({ systemMs: NOON - 600_000 })
    await clock.adjust()
    database.isDown = true
    await expect(clock.adjust()).rejects.toThrow('down')
    pass(60_000)
    expect(error()).toBe(0)
  })
})
