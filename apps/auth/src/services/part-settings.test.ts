import { expect, it } from '@jest/globals'
import { callBudgetMs } from './part-settings.js'

it.each([
  [60_000, 59_000],
  [10_000, 9000],
  [2000, 1000],
  [300, 150],
])('of a request that may take %i ms, calls to a provider get %i ms', (requestMs, budgetMs) => {
  expect(callBudgetMs(requestMs)).toBe(budgetMs)
})
