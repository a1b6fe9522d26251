import { describe, expect, it } from '@jest/globals'
import { FairTree, type GroupPath } from './fair-tree.js'

type Waiting = { path: GroupPath; order: number }

/** One letter for each level: `ab1` waits in `b`, which is in `a`. */
const pathOf = (item: string) => [...item.slice(0, -1)]

function filled(...items: string[]) {
  const tree = new FairTree<string>()
  for (const item of items) tree.push(pathOf(item), item)
  return tree
}

const all = <Item>(take: () => Item | undefined): Item[] => {
  const taken: Item[] = []
  for (let item = take(); item !== undefined; item = take()) taken.push(item)
  return taken
}

it('lets the groups of each level take turns, and each narrowest one keep its own order', () => {
  const tree = filled('aa1', 'aa2', 'ab1', 'ac1', 'ba1', 'ba2', 'ba3')
  expect(all(() => tree.shift())).toEqual(['aa1', 'ba1', 'ab1', 'ba2', 'ac1', 'ba3', 'aa2'])
  expect(tree.size).toBe(0)
})

it('lets a newcomer have its turn before any other has two', () => {
  const tree = filled('aa1', 'ab1', 'ac1', 'ba1', 'ba2')
  expect(tree.shift()).toBe('aa1')
  tree.push(['c', 'a'], 'ca1')
  expect(all(() => tree.shift())).toEqual(['ba1', 'ab1', 'ca1', 'ba2', 'ac1'])
})

it('takes the newest item below the group that has most, level by level', () => {
  const tree = filled('aa1', 'aa2', 'ba1', 'bb1', 'bb2', 'bc1')
  expect(all(() => tree.takeFromLargest())).toEqual(['bb2', 'bb1', 'bc1', 'aa2', 'aa1', 'ba1'])
  expect(tree.size).toBe(0)
})

it('takes from the one that was the last to have so many, among equals', () => {
  const tree = filled('a1', 'b1', 'b2', 'c1')
  expect(all(() => tree.takeFromLargest())).toEqual(['b2', 'b1', 'c1', 'a1'])
})

it('tells whether it had what is removed, and forgets it', () => {
  const tree = filled('aa1', 'aa2', 'ab1')
  expect(tree.remove(['a', 'a'], 'aa1')).toBe(true)
  expect(tree.remove(['a', 'a'], 'aa1')).toBe(false)
  expect(tree.remove(['b', 'a'], 'aa2')).toBe(false)
  expect(tree.size).toBe(2)
  expect(all(() => tree.shift())).toEqual(['aa2', 'ab1'])
})

describe('whatever is pushed, removed and taken', () => {
  /** Counts the items below each child of `prefix`, from a plain list: there are no counters that could become wrong. */
  const countsAt = (items: readonly Waiting[], prefix: GroupPath) => {
    const counts = new Map<string, number>()
    for (const { path } of items) {
      if (prefix.some((key, level) => path[level] !== key)) continue
      const key = path[prefix.length] ?? ''
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return counts
  }

  it.each([1, 2, 3, 4])('refuses as it says and loses nothing: seed %d', (seed) => {
    const random = seeded(seed)
    const tree = new FairTree<Waiting>()
    let items: Waiting[] = []
    const forget = (gone: Waiting) => (items = items.filter((item) => item !== gone))
    for (let order = 0; order < 1000; order += 1) {
      const choice = random(10)
      if (choice < 6) {
        const item = { path: [random(3), random(3), random(2)].map(String), order }
        items.push(item)
        tree.push(item.path, item)
      } else if (choice === 6) {
        const item = items[random(items.length)]
        if (item) expect(tree.remove(item.path, item)).toBe(true)
        if (item) forget(item)
      } else if (choice === 7) {
        const item = tree.shift()
        const [first] = items.filter(({ path }) => path.join() === item?.path.join())
        expect(item).toBe(first)
        if (item) forget(item)
      } else {
        const item = tree.takeFromLargest()
        item?.path.forEach((key, level) => {
          const counts = countsAt(items, item.path.slice(0, level))
          expect(counts.get(key)).toBe(Math.max(...counts.values()))
        })
        expect(item).toBe(items.findLast(({ path }) => path.join() === item?.path.join()))
        if (item) forget(item)
      }
      expect(tree.size).toBe(items.length)
    }
    expect(new Set(all(() => tree.shift()))).toEqual(new Set(items))
  })

  it.each([1, 2])('gives no group two turns while another waits for one: seed %d', (seed) => {
    const random = seeded(seed)
    const tree = new FairTree<Waiting>()
    const items: Waiting[] = []
    const sinceTurn = new Map<string, Set<string>>()
    for (let order = 0; order < 1000; order += 1) {
      // Some groups get more items than others.
      const item = { path: [random(random(6) + 1), random(random(6) + 1)].map(String), order }
      items.push(item)
      tree.push(item.path, item)
      if (random(3) === 0) continue
      const taken = tree.shift()
      if (taken === undefined) continue
      items.splice(items.indexOf(taken), 1)
      taken.path.forEach((key, level) => {
        const parent = taken.path.slice(0, level)
        for (const waiting of countsAt(items, parent).keys()) {
          const name = [...parent, waiting].join('/')
          const passedBy = sinceTurn.get(name) ?? new Set()
          if (waiting !== key) expect(passedBy.has(key)).toBe(false)
          sinceTurn.set(name, passedBy.add(key))
        }
        sinceTurn.delete([...parent, key].join('/'))
      })
    }
    expect(items.length).toBeGreaterThan(50)
  })
})

/** Integers below `limit`, the same for each seed (Lehmer's generator, by Park and Miller). */
function seeded(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
}
