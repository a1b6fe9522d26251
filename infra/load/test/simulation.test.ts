import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { COSTS, LAYOUTS, MEASURED } from '../src/simulation/model.js'
import { capacityOf, simulationText } from '../src/simulation/report.js'
import { simulate } from '../src/simulation/simulate.js'
import { timeOf } from '../src/simulation/stations.js'

const layout = (name: string) => {
  const found = LAYOUTS.find((one) => one.name.startsWith(name))
  if (!found) throw new Error(`no layout ${name}`)
  return found
}

describe('the simulation', () => {
  it('loses nothing and takes no event twice', () => {
    expect(simulate(MEASURED, { perSecond: 300, seconds: 5 }).arrived).toBe(1500)
  })

  it('keeps the law of utilization: a thread is busy for what its batches cost, whatever waits', () => {
    const { busy } = simulate(layout('one process'), { perSecond: 20, seconds: 60 })
    // At this rate, nearly every batch has a single event.
    const expected = (20 * timeOf(COSTS.dispatcher, 1)) / 1000
    expect(busy['a dispatcher']).toBeGreaterThan(0.85 * expected)
    expect(busy['a dispatcher']).toBeLessThan(1.15 * expected)
  })

  it('sees a queue that grows without end as one', () => {
    const run = (perSecond: number) => simulate(layout('one process'), { perSecond, seconds: 5 })
    expect(run(800).growth).toBeLessThan(1.5)
    expect(run(3200).growth).toBeGreaterThan(2)
  })

  it('gains from more processes where these are full first, and from a larger PostgreSQL where that is', () => {
    const [one, two, four, larger] = [
      'one process',
      'two of each',
      'four of each, PostgreSQL on 2',
      'four of each, PostgreSQL on 4',
    ]
      .map(layout)
      .map(capacityOf)
    expect(one?.first).toBe('a process of the API')
    expect(two?.perSecond).toBeGreaterThan(1.5 * (one?.perSecond ?? NaN))
    expect(four?.first).toBe("PostgreSQL's cores")
    expect(larger?.perSecond).toBeGreaterThan(1.3 * (four?.perSecond ?? NaN))
  })

  it('says what the page about sizing shows', () => {
    const page = readFileSync(new URL('../../sizing.md', import.meta.url), 'utf8')
    expect(page).toContain(`\`\`\`text\n${simulationText()}\n\`\`\``)
  })
})
