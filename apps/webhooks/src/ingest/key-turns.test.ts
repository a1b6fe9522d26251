import { expect, it } from '@jest/globals'
import { KeyTurns } from './key-turns.js'

/** Work that ends when the test says so. */
function heldWork() {
  const begun: string[] = []
  const ends = new Map<string, { succeed: () => void; fail: () => void }>()
  const turns = new KeyTurns()
  return {
    begun,
    end: async (name: string, how: 'succeed' | 'fail' = 'succeed') => {
      ends.get(name)?.[how]()
      await new Promise(setImmediate)
    },
    start: (name: string, ...keys: string[]) =>
      turns.run(keys, () => {
        begun.push(name)
        return new Promise<string>((resolve, reject) =>
          ends.set(name, { succeed: () => resolve(name), fail: () => reject(new Error(name)) }),
        )
      }),
  }
}

it('runs work with a common key in the order in which it came, and other work at once', async () => {
  const { begun, end, start } = heldWork()
  const results = Promise.all([start('1', 'a'), start('2', 'a', 'b'), start('3', 'b'), start('4', 'c')])
  expect(begun).toEqual(['1', '4'])
  await end('1')
  expect(begun).toEqual(['1', '4', '2'])
  await end('4')
  await end('2')
  expect(begun).toEqual(['1', '4', '2', '3'])
  await end('3')
  expect(await results).toEqual(['1', '2', '3', '4'])
  void start('5', 'a', 'b', 'c')
  expect(begun.at(-1)).toBe('5')
})

it('goes on after work that fails', async () => {
  const { begun, end, start } = heldWork()
  const failing = start('1', 'a')
  const next = start('2', 'a')
  failing.catch(() => undefined)
  await end('1', 'fail')
  await expect(failing).rejects.toThrow('1')
  expect(begun).toEqual(['1', '2'])
  await end('2')
  expect(await next).toBe('2')
})
