import { expect, it } from '@jest/globals'
import { FairQueue } from './fair-queue.js'

function filled(...items: string[]) {
  const queue = new FairQueue<string>()
  for (const item of items) queue.push(item.charAt(0), item)
  return queue
}

const upTo = (count: number) => {
  let left = count
  return () => (left-- > 0 ? ('take' as const) : ('stop' as const))
}

it('gives each share its turn, and each keeps its own order', () => {
  const queue = filled('a1', 'a2', 'a3', 'b1', 'c1', 'c2')
  expect(queue.take(() => 'take')).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
  expect(queue.size).toBe(0)
  expect(queue.take(() => 'take')).toEqual([])
})

it('goes on with the share whose turn it is', () => {
  const queue = filled('a1', 'a2', 'a3', 'a4', 'b1', 'b2')
  expect(queue.take(upTo(1))).toEqual(['a1'])
  queue.push('c', 'c1')
  expect(queue.take(upTo(2))).toEqual(['b1', 'a2'])
  expect(queue.take(upTo(9))).toEqual(['c1', 'b2', 'a3', 'a4'])
})

it('leaves what must not be taken now in its place', () => {
  const queue = filled('a1', 'a2', 'b1', 'a3')
  expect(queue.take((item) => (item === 'a1' ? 'leave' : 'take'))).toEqual(['a2', 'b1', 'a3'])
  expect(queue.size).toBe(1)
  expect(queue.take(() => 'take')).toEqual(['a1'])
})

it('forgets what is removed', () => {
  const queue = filled('a1', 'a2', 'b1')
  queue.remove('a', 'a1')
  queue.remove('b', 'b1')
  queue.remove('b', 'unknown')
  expect(queue.size).toBe(1)
  expect(queue.take(() => 'take')).toEqual(['a2'])
})

it('hands out single items in the same turns', () => {
  const queue = filled('a1', 'a2', 'b1')
  expect([queue.shift(), queue.shift(), queue.shift(), queue.shift()]).toEqual(['a1', 'b1', 'a2', undefined])
})

it('tells whether it had what is removed', () => {
  const queue = filled('a1')
  expect([queue.remove('a', 'a2'), queue.remove('a', 'a1'), queue.remove('a', 'a1')]).toEqual([
    false,
    true,
    false,
  ])
})
