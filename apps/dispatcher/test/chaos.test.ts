import { expect, it } from '@jest/globals'
import { shortFaults } from '../chaos/faults/all-faults.js'
import { runScenario } from '../chaos/scenario.js'

/** Four crashes, with the time that the processes take to start in between; `npm run chaos` runs the whole list. */
const TIME_LIMIT_MS = 600_000

it(
  'loses no acknowledged event when API, PostgreSQL, dispatchers and Redis are killed in turn',
  async () => {
    const said: string[] = []
    const report = await runScenario({
      code: 'dist',
      faults: shortFaults,
      watched: false,
      perSecond: 10,
      calmMs: 1000,
      seed: 7,
      say: (line) => said.push(line),
    })
    expect(report.account.problems).toEqual([])
    const { complete, prepared, test } = report.account.acknowledged
    expect(complete).toBeGreaterThan(50)
    expect(prepared).toBeGreaterThan(25)
    expect(test).toBeGreaterThan(10)
    expect(report.account.deliveries).toBe(2 * (complete + prepared) + test)
    // The API was killed before it answered this notice, so the sender repeated it.
    expect(report.duplicates).toBeGreaterThan(0)
    expect(report.refused).toBe(0)
    const never = report.faults.filter((fault) => Object.values(fault.dispatchingAfterMs).includes(Infinity))
    expect(never.map(({ name }) => name)).toEqual([])
  },
  TIME_LIMIT_MS,
)
