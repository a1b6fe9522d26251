import { describe, expect, it } from '@jest/globals'
import { ownDatabase } from '../test/own-database.js'
import { withAdvisoryLock } from './index.js'

const { db } = ownDatabase('locks')

describe('withAdvisoryLock', () => {
  it('lets exactly one of many simultaneous callers in, and the next one after it', async () => {
    const gate = deferred()
    const inside = deferred()
    const first = withAdvisoryLock(db, 'job', async () => {
      inside.resolve()
      await gate.promise
      return 'first'
    })
    await inside.promise
    const others = Promise.all(
      [1, 2, 3].map(() => withAdvisoryLock(db, 'job', () => Promise.resolve('other'))),
    )
    expect(await others).toEqual([undefined, undefined, undefined])
    gate.resolve()
    expect(await first).toBe('first')
    expect(await withAdvisoryLock(db, 'job', () => Promise.resolve('next'))).toBe('next')
  })
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve: () => resolve() }
}
