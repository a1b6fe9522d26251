import { expect, it } from '@jest/globals'
import { ofShare, ParserQueue } from './parser-queue.js'

const task = (share: string, name: string) => ({ ...ofShare(share), name })

it('gives each account its turn, even if one has more waiting', () => {
  const queue = new ParserQueue()
  const [one, two, three] = ['1', '2', '3'].map((name) => task('flooding', name)) as [object, object, object]
  for (const each of [one, two, three]) queue.push(each as never)
  const other = task('other', '1')
  queue.push(other)
  expect([queue.shift(), queue.shift(), queue.size]).toEqual([one, other, 2])
  queue.remove(two as never)
  expect([queue.shift(), queue.shift()]).toEqual([three, null])
})

it('keeps the turn of a task that was taken while no thread was free', () => {
  const queue = new ParserQueue()
  const [one, two, three] = ['a', 'a', 'b'].map((share, i) => task(share, String(i))) as [
    object,
    object,
    object,
  ]
  for (const each of [one, two, three]) queue.push(each as never)
  expect(queue.shift()).toBe(one)
  queue.unshift(queue.shift() as never)
  expect(queue.size).toBe(2)
  expect([queue.shift(), queue.shift(), queue.shift()]).toEqual([three, two, null])
  queue.unshift(three as never)
  queue.remove(three as never)
  expect([queue.size, queue.shift()]).toEqual([0, null])
})
