import { describe, expect, it } from '@jest/globals'
import { BodyCache } from './body-cache.js'

const counted = (bodies: Record<string, string>) => {
  const reads: string[] = []
  const load = (id: string) => {
    reads.push(id)
    const text = bodies[id]
    return Promise.resolve(text === undefined ? null : Buffer.from(text))
  }
  return { reads, load }
}

describe('BodyCache', () => {
  it('reads a body once for any number of simultaneous and later attempts', async () => {
    const { reads, load } = counted({ a: 'body a' })
    const cache = new BodyCache(1000, load)
    const bodies = await Promise.all(['a', 'a', 'a'].map((id) => cache.get(id)))
    expect(bodies.map(String)).toEqual(['body a', 'body a', 'body a'])
    await cache.get('a')
    expect(reads).toEqual(['a'])
  })

  it('does not remember a purged body, so that nothing hides a later change', async () => {
    const { reads, load } = counted({})
    const cache = new BodyCache(1000, load)
    expect(await cache.get('gone')).toBeNull()
    expect(await cache.get('gone')).toBeNull()
    expect(reads).toEqual(['gone', 'gone'])
  })

  it('stays within its bytes by dropping what was not used for longest', async () => {
    const { reads, load } = counted({ a: 'a'.repeat(20), b: 'b'.repeat(20), c: 'c'.repeat(20) })
    const cache = new BodyCache(80, load)
    for (const id of ['a', 'b', 'c']) await cache.get(id)
    await cache.get('a')
    cache.put('d', Buffer.alloc(20))
    cache.put('e', Buffer.alloc(20))
    expect(cache.bytes).toBe(80)
    await cache.get('a')
    await cache.get('b')
    expect(reads).toEqual(['a', 'b', 'c', 'b'])
  })

  it('does not keep a body so large that it would push out all others', async () => {
    const { reads, load } = counted({ big: 'x'.repeat(50) })
    const cache = new BodyCache(100, load)
    await cache.get('big')
    await cache.get('big')
    expect(cache.bytes).toBe(0)
    expect(reads).toEqual(['big', 'big'])
  })

  it('keeps nothing when its size is 0', async () => {
    const { reads, load } = counted({ a: 'body a' })
    const cache = new BodyCache(0, load)
    for (const id of ['a', 'a']) expect(String(await cache.get(id))).toBe('body a')
    expect(reads).toEqual(['a', 'a'])
  })

  it('forgets a failed read', async () => {
    let calls = 0
    const cache = new BodyCache(100, () => {
      calls += 1
      return calls === 1 ? Promise.reject(new Error('down')) : Promise.resolve(Buffer.from('up'))
    })
    await expect(cache.get('a')).rejects.toThrow('down')
    expect(String(await cache.get('a'))).toBe('up')
  })
})
