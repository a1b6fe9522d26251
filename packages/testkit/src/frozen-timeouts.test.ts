import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { freezeTimeouts, waitFor, type FrozenTimeouts } from './index.js'

let frozen: FrozenTimeouts
const real = { setTimeout, clearTimeout }
beforeEach(() => void (frozen = freezeTimeouts()))
afterEach(() => frozen.thaw())

it('runs timeouts in the order in which they are due, when the time has passed, and none that was cleared', () => {
  const ran: string[] = []
  setTimeout((name: string) => ran.push(name), 20, 'second')
  setTimeout(() => setTimeout(() => ran.push('from the first'), 15), 5)
  clearTimeout(setTimeout(() => ran.push('cleared'), 10))
  const before = performance.now()
  frozen.advance(19)
  expect(ran).toEqual([])
  expect(frozen.pendingMs()).toEqual([1, 1])
  frozen.advance(1)
  expect(ran).toEqual(['second', 'from the first'])
  expect(performance.now() - before).toBe(20)
})

it('lets the others go on afterwards, and be cleared', async () => {
  const ran: string[] = []
  setTimeout(() => ran.push('short'), 1)
  setTimeout(() => ran.push('long'), 25)
  const cleared = setTimeout(() => ran.push('cleared'), 5)
  frozen.advance(1)
  frozen.thaw()
  clearTimeout(cleared)
  await waitFor(() => ran.length === 2)
  expect(ran).toEqual(['short', 'long'])
  expect({ setTimeout, clearTimeout }).toEqual(real)
  const before = performance.now()
  await waitFor(() => performance.now() > before)
})
