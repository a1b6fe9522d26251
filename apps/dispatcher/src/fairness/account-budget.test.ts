import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { AccountBudget, type Holding } from './account-budget.js'

/** Acquires `amount` for each of these accounts. The returned list grows as they get it. */
function acquired(budget: AccountBudget, accounts: readonly string[], amount = 1) {
  const held: (Holding & { accountId: string })[] = []
  for (const accountId of accounts)
    void budget
      .acquire(accountId, () => amount)
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

  it('leaves others room beside what is larger than itself', async () => {
    const budget = new AccountBudget({ size: 100, timesFree: 1 })
    const held = acquired(budget, ['a', 'a', 'b', 'c'], 1000)
    await turn()
    expect(accountsOf(held)).toEqual(['a', 'b'])
    held[1]?.resize(49)
    await turn()
    expect(accountsOf(held)).toEqual(['a', 'b', 'c'])
  })

  it('counts in full what an account has, however little was left for it when it came', async () => {
    const budget = new AccountBudget({ size: 100, timesFree: 3 })
    const held = acquired(budget, ['a', 'a', 'a', 'a'], 50)
    await turn()
    expect(held).toHaveLength(2)
    for (const left of [40, 30]) {
      held[0]?.resize(left)
      await turn()
      expect(held).toHaveLength(2)
    }
    held[0]?.resize(24)
    await turn()
    expect(held).toHaveLength(3)
  })

  it('gives others what one turns out not to need', async () => {
    const budget = new AccountBudget({ size: 100, timesFree: 1 })
    const held = acquired(budget, ['a'], 50)
    await turn()
    const later = acquired(budget, ['a'])
    await turn()
    expect(later).toHaveLength(0)
    held[0]?.resize(10)
    await turn()
    expect(later).toHaveLength(1)
  })
})
