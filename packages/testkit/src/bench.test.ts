import { describe, expect, it, jest } from '@jest/globals'
import { atLeast, inTurns, median, quantile, reporter } from './bench.js'

describe('the middle of results', () => {
  it.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[7], 7],
    [[], NaN],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected)
  })

  it('leaves the wanted part of all values below', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect([quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)]).toEqual([51, 100, 100])
  })
})

it('takes loads in turns and does not count the round that warms up', async () => {
  let count = 0
  const load = () => Promise.resolve((count += 1))
  expect(await inTurns([load, load], 2)).toEqual([
    [3, 5],
    [4, 6],
  ])
})

it('prints a line for each result, and fails the run for a goal that is missed', () => {
  const lines = jest.spyOn(console, 'log').mockImplementation(() => {})
  try {
    const result = { case: 'one', value: 1.23456, unit: 'ms' }
    reporter('a')({ ...result, ...atLeast(0.5, 0.7) })
    expect(process.exitCode).toBeUndefined()
    reporter('b', { failsOnMiss: true })({ ...result, ...atLeast(0.5, 0.7) })
    expect(process.exitCode).toBe(1)
    expect(lines.mock.calls.map(([line]) => JSON.parse(String(line)) as object)).toEqual(
      ['a', 'b'].map((bench) => ({ bench, ...result, value: 1.235, ratio: 0.5, goal: '>= 0.7', ok: false })),
    )
  } finally {
    lines.mockRestore()
  }
})
