import { expect, it } from '@jest/globals'
import { shortFaults } from '../chaos/faults/all-faults.js'
import { runScenario } from '../chaos/scenario.js'

/** Four crashes with the processes' own starts in between; `npm run chaos` runs the whole list. */
const TIME_LIMIT_MS = 240_000

it(
  'loses no acknowledged event when dispatcher, API, Redis and PostgreSQL are killed in turn',
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
    const { summaries, tests } = report.account.acknowledged
    expect(summaries).toBeGreaterThan(50)
    expect(tests).toBeGreaterThan(10)
    expect(report.account.deliveries).toBe(2 * summaries + tests)
    expect(report.refused).toBe(0)
    for (const { name, dispatchingAfterMs } of report.faults)
      expect({ name, late: dispatchingAfterMs > 15_000 }).toEqual({ name, late: false })
  },
  TIME_LIMIT_MS,
)
