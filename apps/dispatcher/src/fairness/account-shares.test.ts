import { describe, expect, it } from '@jest/globals'
import { AccountShares } from './account-shares.js'

const GREEDY = Array.from({ length: 20 }, (_, number) => `account-${number}`)

/** Lets each account take as much as it may, in turn, without giving anything back. */
function takeAll(shares: AccountShares, accounts: readonly string[]): Record<string, number> {
  const taken: Record<string, number> = Object.fromEntries(accounts.map((account) => [account, 0]))
  for (let isFull = false; !isFull;) {
    isFull = true
    for (const account of accounts) {
      if (!shares.mayTakeMore(account)) continue
      shares.add(account, 1)
      taken[account] = (taken[account] ?? 0) + 1
      isFull = false
    }
  }
  return taken
}

describe('AccountShares', () => {
  it('gives an account alone most of it, and leaves room for others', () => {
    const shares = new AccountShares({ size: 100, timesFree: 3 })
    expect(takeAll(shares, ['a'])).toEqual({ a: 75 })
    expect(takeAll(shares, ['b'])).toEqual({ b: 15 })
    expect(takeAll(shares, ['c'])).toEqual({ c: 2 })
  })

  it('keeps most of its last tenth for accounts that have little', () => {
    const shares = new AccountShares({ size: 100, timesFree: 3 })
    takeAll(shares, GREEDY)
    const others = Array.from({ length: 4 }, (_, number) => `other-${number}`)
    for (const other of others) {
      expect(shares.mayTakeMore(other)).toBe(true)
      shares.add(other, 1)
    }
  })

  it('leaves room for one more, however many want all they can get', () => {
    const shares = new AccountShares({ size: 50, timesFree: 0.5 })
    takeAll(shares, GREEDY)
    expect(shares.mayTakeMore('one more')).toBe(true)
  })

  it('has room for one more again once those who came one by one have given back what they had', () => {
    const shares = new AccountShares({ size: 50, timesFree: 0.5 })
    const taken = GREEDY.map((account) => takeAll(shares, [account])[account] ?? 0)
    expect(shares.mayTakeMore('one more')).toBe(false)
    GREEDY.forEach((account, number) => {
      shares.add(account, -(taken[number] ?? 0))
      takeAll(shares, GREEDY)
    })
    expect(shares.mayTakeMore('one more')).toBe(true)
  })

  it('says how much may be taken at once', () => {
    const shares = new AccountShares({ size: 100, timesFree: 3 })
    expect(shares.availableTo('a')).toBe(75)
    shares.add('a', 75)
    expect(shares.availableTo('a')).toBe(0)
    shares.add('b', shares.availableTo('b'))
    expect(shares.mayTakeMore('b')).toBe(false)
    expect(shares.mayTakeMore('c')).toBe(true)
  })

  it('gives the only permit to whoever comes first', () => {
    const shares = new AccountShares({ size: 1, timesFree: 1 })
    expect(takeAll(shares, ['a', 'b'])).toEqual({ a: 1, b: 0 })
    shares.add('a', -1)
    expect(takeAll(shares, ['b'])).toEqual({ b: 1 })
  })

  it('forgets an account that has given everything back, also in fractions', () => {
    const shares = new AccountShares({ size: 1, timesFree: 3 })
    for (let times = 0; times < 1000; times += 1) {
      for (let part = 0; part < 10; part += 1) shares.add('a', 0.1)
      shares.add('a', -1)
    }
    expect(shares.used).toBe(0)
    expect(shares.mayTakeMore('a')).toBe(true)
  })
})
