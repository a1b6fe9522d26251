import { expect, it } from '@jest/globals'
import { PublishPriority } from './publish-priority.js'

const MIB = 2 ** 20
const taken = (priority: PublishPriority, accountId: string, count: number, bytes?: number) =>
  Array.from({ length: count }, () => priority.take({ accountId, bytes }))

it('lets an account publish a burst in front, and puts what is beyond it behind, in order', () => {
  const priority = new PublishPriority(() => 0)
  const given = taken(priority, 'a', 1000)
  expect(new Set(given.slice(0, 200))).toEqual(new Set([0]))
  expect(given.slice(200).every((value) => value > 0)).toBe(true)
  expect(given).toEqual([...given].sort((a, b) => a - b))
})

it('puts an account that is within its allowance in front of one that is not', () => {
  const priority = new PublishPriority(() => 0)
  taken(priority, 'flood', 5000)
  expect(priority.take({ accountId: 'other' })).toBe(0)
})

it('counts bytes, so that few large events weigh as much as many small ones', () => {
  const priority = new PublishPriority(() => 0)
  expect(Math.max(...taken(priority, 'large', 10, MIB))).toBe(0)
  expect(Math.max(...taken(priority, 'large', 10, MIB))).toBeGreaterThan(0)
})

it('forgives with time, and forgets accounts that owe nothing', () => {
  let now = 0
  const priority = new PublishPriority(() => now)
  taken(priority, 'a', 400)
  now = 3000
  expect(priority.take({ accountId: 'a' })).toBe(0)
  for (let i = 0; i < 20_000; i += 1) {
    now += 1
    priority.take({ accountId: `account-${i}` })
  }
  expect(priority.remembered).toBeLessThanOrEqual(10_001)
})

it('forgives within a minute and a second, however long an account was over its allowance', () => {
  let now = 0
  const priority = new PublishPriority(() => now)
  for (; now < 600_000; now += 1000) taken(priority, 'a', 2000)
  expect(priority.take({ accountId: 'a' })).toBeGreaterThan(0)
  now += 61_000
  expect(priority.take({ accountId: 'a' })).toBe(0)
})

it('never exceeds what BullMQ accepts', () => {
  const priority = new PublishPriority(() => 0)
  expect(Math.max(...taken(priority, 'a', 10_000, 1000 * MIB))).toBeLessThan(2 ** 21)
})
