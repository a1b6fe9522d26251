import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { AccountBudget, type Holding } from './account-budget.js'

/** Acquires this much for these accounts. The list grows as they get it. */
function acquired(budget: AccountBudget, accounts: readonly string[], amount = 1) {
  const held: (Holding & { accountId: string })[] = []
  for (const accountId of accounts)
    void budget
      .acquire(accountId, () => ({ amount, atLeast: 1 }))
      .then((holding) => held.push(Object.assign(holding, { accountId })))
  return held
}
const accountsOf = (held: readonly { accountId: string }[]) => held.map(({ accountId }) => accountId)

describe('AccountBudget', () => {
  it('gives what becomes free to accounts in turn, each within its share', async () => {
    const budget = new AccountBudget({ size: 4, timesFree: 1 })
    const held = acquired(budget, ['a', 'a', 'a', 'a', 'b'])
    await turn()
    expect(accountsOf(held)).toEqual(['a', 'a', 'b'])
    expect(budget.waiting).toBe(2)
    held[0]?.release()
    held[0]?.release()
    await turn()
    expect(accountsOf(held)).toEqual(['a', 'a', 'b', 'a'])
  })

  it('counts what is larger than itself only as far as others still find room', async () => {
    const budget = new AccountBudget({ size: 100, timesFree: 1 })
    const held = acquired(budget, ['a', 'b', 'c'], 1000)
    await turn()
    expect(held.map(({ amount }) => amount)).toEqual([50, 25, 12.5])
  })

  it('gives others what one turns out not to need, and lets it have more within its share', async () => {
    const budget = new AccountBudget({ size: 100, timesFree: 1 })
    const held = acquired(budget, ['a'], 50)
    await turn()
    const later = acquired(budget, ['a'])
    held[0]?.resize(100)
    await turn()
    expect([held[0]?.amount, later.length]).toEqual([50, 0])
    held[0]?.resize(10)
    await turn()
    expect(later).toHaveLength(1)
  })
})
