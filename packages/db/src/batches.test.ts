import { expect, it } from '@jest/globals'
import { Batches, type BatchesOptions } from './batches.js'

/** Batches whose statements end when the test says so. */
function heldBatches(options: Partial<BatchesOptions<string, string>> = {}) {
  const sent: { items: readonly string[]; end: (error?: Error) => void }[] = []
  const batches = new Batches<string, string>({
    underWay: 2,
    send: (items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(items.map((item) => `${item}!`)))
        sent.push({ items, end })
      }),
    ...options,
  })
  return { batches, sent }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('sends one alone at once, and together what comes while two statements are under way', async () => {
  const { batches, sent } = heldBatches()
  const answers = ['a', 'b', 'c', 'd'].map((item) => batches.add(item))
  expect(sent.map(({ items }) => items)).toEqual([['a'], ['b']])
  sent[0]?.end()
  await expect(answers[0]).resolves.toBe('a!')
  await turn()
  expect(sent[2]?.items).toEqual(['c', 'd'])
  sent[2]?.end()
  await expect(Promise.all(answers.slice(2))).resolves.toEqual(['c!', 'd!'])
})

it('never puts more than 64 into one statement', async () => {
  const { batches, sent } = heldBatches()
  const answers = Array.from({ length: 2 + 100 }, (_, index) => batches.add(`${index}`))
  for (let index = 0; index < 4; index += 1) {
    sent[index]?.end()
    await turn()
  }
  expect(sent.map(({ items }) => items.length)).toEqual([1, 1, 64, 36])
  expect(await Promise.all(answers)).toHaveLength(102)
})

it('keeps items with a common key apart, in the order they came, until the first has its result', async () => {
  const { batches, sent } = heldBatches({ keysOf: (item) => item.match(/[a-z]/g) ?? [], slowMs: Infinity })
  for (const item of ['x', 'y', 'a1', 'a2', 'b1', 'a-b']) void batches.add(item)
  sent[0]?.end()
  await turn()
  expect(sent[2]?.items).toEqual(['a1', 'b1'])
  sent[1]?.end()
  await turn()
  expect(sent).toHaveLength(3)
  sent[2]?.end()
  await turn()
  expect(sent[3]?.items).toEqual(['a2'])
  sent[3]?.end()
  await turn()
  expect(sent[4]?.items).toEqual(['a-b'])
})

it('lets a slow statement no longer keep others of its keys waiting', async () => {
  const { batches, sent } = heldBatches({ keysOf: (item) => [item.charAt(0)] })
  for (const item of ['stuck', 'second', 'third']) void batches.add(item)
  while (sent.length < 3) await turn()
  expect(sent.map(({ items }) => items)).toEqual([['stuck'], ['third'], ['second']])
})

it('gives each share its place in a batch in turn', async () => {
  const { batches, sent } = heldBatches({ underWay: 1, maxItems: 4, shareOf: (item) => item.charAt(0) })
  for (const item of ['x', 'a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1']) void batches.add(item)
  sent[0]?.end()
  await turn()
  sent[1]?.end()
  await turn()
  expect(sent.map(({ items }) => items)).toEqual([['x'], ['a1', 'b1', 'c1', 'a2'], ['a3', 'a4', 'a5']])
})

it('fills a batch up to its bytes, and sends alone what has more', async () => {
  const { batches, sent } = heldBatches({ underWay: 1, maxBytes: 10, bytesOf: (item) => item.length })
  for (const item of ['x', 'four', 'five5', 'two', 'a very long one', 'end']) void batches.add(item)
  for (let index = 0; index < 4; index += 1) {
    sent[index]?.end()
    await turn()
  }
  expect(sent.map(({ items }) => items)).toEqual([
    ['x'],
    ['four', 'five5'],
    ['two'],
    ['a very long one'],
    ['end'],
  ])
})

it('goes on beside statements that never end', async () => {
  const { batches, sent } = heldBatches()
  for (const item of ['stuck', 'stuck too', 'a', 'b']) void batches.add(item)
  while (sent.length < 3) await turn()
  expect(sent.map(({ items }) => items)).toEqual([['stuck'], ['stuck too'], ['a', 'b']])
})

it('tries each alone when a statement for several fails, and fails only the one that fails alone', async () => {
  const batches = new Batches<string, string>({
    underWay: 2,
    send: async (items) => {
      await turn()
      if (items.includes('bad')) throw new Error('bad')
      return items.map((item) => `${item}!`)
    },
  })
  const answers = ['x', 'y', 'good', 'bad', 'fine'].map((item) => batches.add(item))
  const settled = await Promise.allSettled(answers)
  expect(settled.map((one) => (one.status === 'fulfilled' ? one.value : 'failed'))).toEqual([
    'x!',
    'y!',
    'good!',
    'failed',
    'fine!',
  ])
})

it('fails all of a batch at once when the database is away', async () => {
  const { batches, sent } = heldBatches({ underWay: 1 })
  const answers = ['x', 'a', 'b'].map((item) => batches.add(item))
  sent[0]?.end()
  await turn()
  sent[1]?.end(Object.assign(new Error('terminating connection'), { code: '57P01' }))
  const settled = await Promise.allSettled(answers)
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect(sent).toHaveLength(2)
})

it('lets the first item of a batch wait for others, until the batch is full', async () => {
  const { batches, sent } = heldBatches({ lingerMs: 60_000, maxItems: 2 })
  for (const item of ['a', 'b', 'c']) void batches.add(item)
  expect(sent.map(({ items }) => items)).toEqual([['a', 'b']])
  await turn()
  void batches.add('d')
  expect(sent.map(({ items }) => items)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})

it('sends a batch that does not fill up when the first item has waited long enough', async () => {
  const { batches, sent } = heldBatches({ lingerMs: 1 })
  void batches.add('a')
  void batches.add('b')
  expect(sent).toHaveLength(0)
  while (sent.length === 0) await turn()
  expect(sent.map(({ items }) => items)).toEqual([['a', 'b']])
})

it('counts the wait for the statement before as waiting for others', async () => {
  const { batches, sent } = heldBatches({ underWay: 1, lingerMs: 20, slowMs: Infinity })
  void batches.add('a')
  while (sent.length === 0) await turn()
  const since = performance.now()
  void batches.add('b')
  while (performance.now() - since < 21) await turn()
  expect(sent).toHaveLength(1)
  sent[0]?.end()
  await turn()
  expect(sent.map(({ items }) => items)).toEqual([['a'], ['b']])
})

it('asks for each batch how many items it may have', async () => {
  let limit = 3
  const { batches, sent } = heldBatches({ underWay: 1, lingerMs: 60_000, maxItems: () => limit })
  for (const item of ['a', 'b', 'c', 'd', 'e']) void batches.add(item)
  limit = 1
  for (let index = 0; index < 2; index += 1) {
    sent[index]?.end()
    await turn()
  }
  expect(sent.map(({ items }) => items)).toEqual([['a', 'b', 'c'], ['d'], ['e']])
})

it('sends one alone at once, and paces what follows it', async () => {
  const { batches, sent } = heldBatches({ underWay: 3, paceMs: 20, slowMs: Infinity })
  const since = performance.now()
  for (const item of ['a', 'b', 'c']) void batches.add(item)
  expect(sent.map(({ items }) => items)).toEqual([['a']])
  while (sent.length < 2) await turn()
  expect(performance.now() - since).toBeGreaterThanOrEqual(20)
  expect(sent[1]?.items).toEqual(['b', 'c'])
})

it('does not hold back a full batch for its pace', () => {
  const { batches, sent } = heldBatches({ underWay: 3, paceMs: 60_000, maxItems: 2 })
  for (const item of ['a', 'b', 'c']) void batches.add(item)
  expect(sent.map(({ items }) => items)).toEqual([['a'], ['b', 'c']])
})
