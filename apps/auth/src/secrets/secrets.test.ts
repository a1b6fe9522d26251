import { describe, expect, it } from '@jest/globals'
import { deriveKeys, keyedHash } from './derived-keys.js'
import { seal, unseal } from './sealed-box.js'

const keys = deriveKeys('0123456789abcdef0123456789abcdef')

describe('derived keys', () => {
  it('differ by purpose and by secret', () => {
    const sets = [keys, deriveKeys('another secret, also long enough')]
    const exported = sets.flatMap((set) => Object.values(set).map((key) => key.export().toString('hex')))
    expect(new Set(exported).size).toBe(2 * Object.keys(keys).length)
  })

  it('hash parts that would read the same when joined to different values', () => {
    expect(keyedHash(keys.oneTimeTokens, 'ab', 'c')).not.toEqual(keyedHash(keys.oneTimeTokens, 'a', 'bc'))
  })
})

describe('sealed values', () => {
  it('open with the same key and context, and are different each time', () => {
    const first = seal(keys.encryption, 'row-1', 'sécret')
    expect(unseal(keys.encryption, 'row-1', first)).toBe('sécret')
    expect(seal(keys.encryption, 'row-1', 'sécret')).not.toBe(first)
  })

  it('do not open in another row, with another key, or changed', () => {
    const sealed = seal(keys.encryption, 'row-1', 'secret')
    const flipped = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA')
    expect(() => unseal(keys.encryption, 'row-2', sealed)).toThrow()
    expect(() => unseal(keys.oneTimeTokens, 'row-1', sealed)).toThrow()
    expect(() => unseal(keys.encryption, 'row-1', flipped)).toThrow()
    expect(() => unseal(keys.encryption, 'row-1', 'v1.AA')).toThrow('not a sealed value')
  })
})
