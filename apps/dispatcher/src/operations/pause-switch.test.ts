import { expect, it } from '@jest/globals'
import type { Queryable } from '@signet/db'
import { PauseSwitch } from './pause-switch.js'

/** A switch on queues that are in the state of `flags`. `decide` is called while the first change of the queues is being made. */
function aSwitch({ paused, decide }: { paused: boolean; decide: () => boolean }) {
  const row = { paused }
  const flags: string[] = []
  const db: Queryable = {
    query: <R extends object>() => Promise.resolve({ rows: [{ ...row }] as unknown as R[], rowCount: 1 }),
  }
  const set = (flag: string) => {
    // Another process applies the new decision, and this one then its own.
    if (flags.length === 0) row.paused = decide()
    flags.push(flag)
    return Promise.resolve()
  }
  const queues = { pause: () => set('paused'), resume: () => set('resumed') }
  return { flags, apply: () => new PauseSwitch(db, queues).apply() }
}

it.each([
  { before: false, after: true, flags: ['resumed', 'paused'] },
  { before: true, after: false, flags: ['paused', 'resumed'] },
  { before: true, after: true, flags: ['paused'] },
])(
  'leaves the queues as operators decided last, also while it applies what they decided before: $before, then $after',
  async ({ before, after, flags }) => {
    const { flags: applied, apply } = aSwitch({ paused: before, decide: () => after })
    expect(await apply()).toMatchObject({ paused: after })
    expect(applied).toEqual(flags)
  },
)
