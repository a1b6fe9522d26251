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
