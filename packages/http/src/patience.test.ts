import { describe, expect, it } from '@jest/globals'
import { quicklyOrElse } from './patience.js'

const never = () => new Promise<string>(() => undefined)
const answer = (text: string) => () => Promise.resolve(text)

describe('quicklyOrElse', () => {
  it('gives what was asked for, errors included, when it comes in time', async () => {
    const source = {}
    expect(await quicklyOrElse(source, answer('asked'), answer('fallback'))).toBe('asked')
    await expect(
      quicklyOrElse(source, () => Promise.reject(new Error('no')), answer('fallback')),
    ).rejects.toThrow('no')
  })

  it('gives the fallback after a second, and then at once, for this source alone', async () => {
    const source = {}
    const first = await Promise.all([
      quicklyOrElse(source, never, answer('fallback')),
      quicklyOrElse(source, never, answer('fallback')),
    ])
    expect(first).toEqual(['fallback', 'fallback'])
    let asked = false
    const ask = () => {
      asked = true
      return Promise.resolve('asked')
    }
    expect(await quicklyOrElse(source, ask, answer('fallback'))).toBe('fallback')
    expect(asked).toBe(false)
    expect(await quicklyOrElse({}, answer('asked'), answer('fallback'))).toBe('asked')
  })
})
