import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { BodyCache, type LentBody, type LoadBody } from './body-cache.js'

const counted = (bodies: Record<string, string>) => {
  const reads: string[] = []
  const load: LoadBody = (id) => {
    reads.push(id)
    const text = bodies[id]
    return Promise.resolve(text === undefined ? null : Buffer.from(text))
  }
  return { reads, load }
}

/** Borrows a body for an attempt that is over at once. */
async function bodyFrom(cache: BodyCache, id: string): Promise<Buffer | null> {
  const lent = await cache.borrow(id, 'account')
  lent?.release()
  return lent && lent.body
}

describe('BodyCache', () => {
  it('reads a body once for any number of simultaneous and later attempts', async () => {
    const { reads, load } = counted({ a: 'body a' })
    const cache = new BodyCache({ maxBytes: 1000, load })
    const bodies = await Promise.all(['a', 'a', 'a'].map((id) => bodyFrom(cache, id)))
    expect(bodies.map(String)).toEqual(['body a', 'body a', 'body a'])
    await bodyFrom(cache, 'a')
    expect(reads).toEqual(['a'])
  })

  it('does not remember a purged body, so that nothing hides a later change', async () => {
    const { reads, load } = counted({})
    const cache = new BodyCache({ maxBytes: 1000, load })
    expect(await bodyFrom(cache, 'gone')).toBeNull()
    expect(await bodyFrom(cache, 'gone')).toBeNull()
    expect(reads).toEqual(['gone', 'gone'])
  })

  it('stays within its bytes by dropping what was not used for longest', async () => {
    const { reads, load } = counted({ a: 'a'.repeat(20), b: 'b'.repeat(20), c: 'c'.repeat(20) })
    const cache = new BodyCache({ maxBytes: 80, load })
    for (const id of ['a', 'b', 'c']) await bodyFrom(cache, id)
    await bodyFrom(cache, 'a')
    cache.putFresh('d', Buffer.alloc(20))
    cache.putFresh('e', Buffer.alloc(20))
    expect(cache.bytes).toBe(80)
    await bodyFrom(cache, 'a')
    await bodyFrom(cache, 'b')
    expect(reads).toEqual(['a', 'b', 'c', 'b'])
  })

  it('does not keep a body so large that it would push out all others', async () => {
    const { reads, load } = counted({ big: 'x'.repeat(50) })
    const cache = new BodyCache({ maxBytes: 100, load })
    await bodyFrom(cache, 'big')
    await bodyFrom(cache, 'big')
    expect(cache.bytes).toBe(0)
    expect(reads).toEqual(['big', 'big'])
  })

  it('has a large body for the first attempts, without reading it again', async () => {
    const { reads, load } = counted({ big: 'x'.repeat(50) })
    const cache = new BodyCache({ maxBytes: 100, load })
    cache.putFresh('big', Buffer.from('x'.repeat(50)))
    await bodyFrom(cache, 'big')
    expect(reads).toEqual([])
    cache.firstAttemptsEnded('big')
    await bodyFrom(cache, 'big')
    expect(reads).toEqual(['big'])
  })

  it('keeps nothing when its size is 0', async () => {
    const { reads, load } = counted({ a: 'body a' })
    const cache = new BodyCache({ maxBytes: 0, load })
    for (const id of ['a', 'a']) expect(String(await bodyFrom(cache, id))).toBe('body a')
    expect(reads).toEqual(['a', 'a'])
  })

  it('forgets a failed read', async () => {
    let calls = 0
    const cache = new BodyCache({
      maxBytes: 100,
      load: () => {
        calls += 1
        return calls === 1 ? Promise.reject(new Error('down')) : Promise.resolve(Buffer.from('up'))
      },
    })
    await expect(bodyFrom(cache, 'a')).rejects.toThrow('down')
    expect(String(await bodyFrom(cache, 'a'))).toBe('up')
  })

  describe('of large bodies', () => {
    const MEBIBYTE = 2 ** 20
    /** Makes a cache with room for two bodies of 2 MiB for one account, and one for another. */
    function setUp() {
      const read: string[] = []
      const load: LoadBody = (id, maxBytes) => {
        if (maxBytes < 2 * MEBIBYTE) return Promise.resolve({ bytes: 2 * MEBIBYTE })
        read.push(id)
        return Promise.resolve(Buffer.alloc(2 * MEBIBYTE))
      }
      const cache = new BodyCache({ maxBytes: 0, load, largeBytes: 8 * MEBIBYTE })
      const lent: LentBody[] = []
      const borrow = (id: string, accountId: string) =>
        void cache.borrow(id, accountId).then((one) => one && lent.push(one))
      return { read, borrow, lent }
    }

    it('has no more in use than fit, and leaves room for other accounts', async () => {
      const { read, borrow, lent } = setUp()
      for (const id of ['a1', 'a2', 'a3', 'a4']) borrow(id, 'a')
      await turn()
      expect(read).toEqual(['a1', 'a2'])
      borrow('b1', 'b')
      await turn()
      expect(read).toEqual(['a1', 'a2', 'b1'])
      lent[0]?.release()
      lent[0]?.release()
      await turn()
      expect(read).toEqual(['a1', 'a2', 'b1', 'a3'])
    })

    it('reads one for all attempts of its event at the same time', async () => {
      const { read, borrow, lent } = setUp()
      for (let i = 0; i < 5; i += 1) borrow('a1', 'a')
      await turn()
      expect([read, lent.length]).toEqual([['a1'], 5])
      for (const one of lent) one.release()
      borrow('a1', 'a')
      await turn()
      expect(read).toEqual(['a1', 'a1'])
    })
  })
})
