import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { endpointSecretContext, SecretBox, SecretKeysError, SecretUnreadableError } from './secret-box.js'

const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const context = endpointSecretContext({ id: '42', accountId: '6b0f' })

describe('SecretBox', () => {
  it('opens what it sealed, and seals the same secret differently each time', () => {
    const box = SecretBox.parse(key('k1'))
    const [a, b] = [box.seal('whsec_é', context), box.seal('whsec_é', context)]
    expect(box.open(a, context)).toBe('whsec_é')
    expect(a.ciphertext.equals(b.ciphertext)).toBe(false)
    expect(a.ciphertext.includes('whsec_')).toBe(false)
  })

  it('seals with the first key and opens with every one', () => {
    const [oldKey, newKey] = [key('2025'), key('2026')]
    const sealed = SecretBox.parse(oldKey).seal('whsec_a', context)
    const rotated = SecretBox.parse(`${newKey}, ${oldKey}`)
    expect(rotated.open(sealed, context)).toBe('whsec_a')
    expect(rotated.seal('whsec_a', context).keyId).toBe('2026')
    expect(() => SecretBox.parse(newKey).open(sealed, context)).toThrow(SecretUnreadableError)
  })

  it('does not open a ciphertext that was copied to another endpoint or account', () => {
    const box = SecretBox.parse(key('k1'))
    const sealed = box.seal('whsec_a', context)
    for (const other of [
      { id: '43', accountId: '6b0f' },
      { id: '42', accountId: '6b10' },
    ]) {
      expect(() => box.open(sealed, endpointSecretContext(other))).toThrow(SecretUnreadableError)
    }
  })

  it('does not open a ciphertext with any bit changed or any byte missing', () => {
    const box = SecretBox.parse(key('k1'))
    const sealed = box.seal('whsec_a', context)
    for (let i = 0; i < sealed.ciphertext.length; i += 1) {
      const ciphertext = Buffer.from(sealed.ciphertext)
      ciphertext[i] = (ciphertext[i] ?? 0) ^ 1
      expect(() => box.open({ ...sealed, ciphertext }, context)).toThrow(SecretUnreadableError)
      const cut = { ...sealed, ciphertext: sealed.ciphertext.subarray(0, i) }
      expect(() => box.open(cut, context)).toThrow(SecretUnreadableError)
    }
  })

  it.each([
    ['an empty list', ''],
    ['a key of 31 bytes', `k:${randomBytes(31).toString('base64')}`],
    ['a key of 33 bytes', `k:${randomBytes(33).toString('base64')}`],
    ['a key without id', randomBytes(32).toString('base64')],
    ['a key of zeros', `k:${Buffer.alloc(32).toString('base64')}`],
    ['hexadecimal', `k:${randomBytes(32).toString('hex')}`],
    ['an id that comes twice', [key('k'), key('k')].join(',')],
    ['an empty entry', `${key('k')},`],
  ])('refuses %s without showing it', (_name, list) => {
    let message = 'accepted'
    try {
      SecretBox.parse(list)
    } catch (error) {
      expect(error).toBeInstanceOf(SecretKeysError)
      message = String(error)
    }
    expect(message).toMatch(/secret key \d/)
    for (const part of list.split(/[:,]/).filter((text) => text.length > 8))
      expect(message).not.toContain(part)
  })
})

it('derives keys that differ by purpose and by key, and are the same for all who have the keys', () => {
  const keys = Array.from({ length: 2 }, (_, i) => `k${i}:${randomBytes(32).toString('base64')}`)
  const [first, second] = SecretBox.parse(keys.join()).derive('a') as [Buffer, Buffer]
  expect(SecretBox.parse(keys.toReversed().join()).derive('a')).toEqual([second, first])
  const all = [first, second, ...SecretBox.parse(keys.join()).derive('b')].map((key) => key.toString('hex'))
  expect(new Set(all).size).toBe(4)
  expect(all.every((key) => key.length === 64)).toBe(true)
})
