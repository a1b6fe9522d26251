import { createHash, createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { macMatches, RefreshTokens } from './refresh-token.js'

describe('a refresh token', () => {
  const key = () => createSecretKey(randomBytes(32))
  const tokens = new RefreshTokens(key())
  const [id, salt] = [randomUUID(), tokens.newSalt()]
  const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  /** Compares as the database does. */
  const isRight = (text: string, by: RefreshTokens, saltOfRow: Buffer) => {
    const presented = by.read(text)
    if (presented === null) return false
    const nonce = by.newNonce()
    const { keyed, expected } = by.check(presented, nonce)
    return sha256(nonce, sha256(keyed, saltOfRow)).equals(expected)
  }

  it('says which session it is of, and which one of its tokens it is', () => {
    for (const counter of [0, 1, 2 ** 31 - 2]) {
      const text = tokens.of(id, counter, salt)
      expect(tokens.read(text)).toMatchObject({ sessionId: id, counter })
      expect(isRight(text, tokens, salt)).toBe(true)
    }
    expect(tokens.read(tokens.of(id, 2 ** 31, salt))).toBeNull()
  })

  it('needs both the key and the salt', () => {
    const text = tokens.of(id, 3, salt)
    expect(isRight(text, new RefreshTokens(key()), salt)).toBe(false)
    expect(isRight(text, tokens, tokens.newSalt())).toBe(false)
    expect(isRight(tokens.of(id, 4, salt).slice(0, 30) + text.slice(30), tokens, salt)).toBe(false)
  })

  it('has one text only', () => {
    const text = tokens.of(id, 3, salt)
    for (const other of [`${text}=`, `${text} `, text.slice(0, -1), `${text}A`, text.replace(/^./, '+')])
      expect(tokens.read(other)).toBeNull()
  })

  it('compares nothing that a caller can choose', () => {
    const presented = tokens.read(tokens.of(id, 3, salt))
    if (presented === null) throw new Error('not a token')
    const [one, two] = [1, 2].map(() => tokens.check(presented, tokens.newNonce()).expected)
    expect(one).not.toEqual(two)
    expect(one).not.toEqual(presented.mac)
  })

  it('is checked in the database by hashing both sides once more', () => {
    expect(macMatches({ keyed: 'c.keyed', expected: 'c.expected' }, '$2', 's.salt')).toBe(
      'sha256($2::bytea || sha256(c.keyed || s.salt)) = c.expected',
    )
  })
})
