import { describe, expect, it } from '@jest/globals'
import { fallBackWhenSlow } from './fall-back-when-slow.js'

const never = () => new Promise<string>(() => undefined)
const answer = (text: string) => () => Promise.resolve(text)

describe('fallBackWhenSlow', () => {
  it('returns what was asked for, including errors, if it arrives in time', async () => {
    const source = {}
    expect(await fallBackWhenSlow(source, answer('asked'), answer('fallback'))).toBe('asked')
    await expect(
      fallBackWhenSlow(source, () => Promise.reject(new Error('no')), answer('fallback')),
    ).rejects.toThrow('no')
  })

  it('falls back after a second, and then at once, for this source only', async () => {
    const source = {}
    const first = await Promise.all([
      fallBackWhenSlow(source, never, answer('fallback')),
      fallBackWhenSlow(source, never, answer('fallback')),
    ])
    expect(first).toEqual(['fallback', 'fallback'])
    let asked = false
    const ask = () => {
      asked = true
      return Promise.resolve('asked')
    }
    expect(await fallBackWhenSlow(source, ask, answer('fallback'))).toBe('fallback')
    expect(asked).toBe(false)
    expect(await fallBackWhenSlow({}, answer('asked'), answer('fallback'))).toBe('asked')
  })
})
