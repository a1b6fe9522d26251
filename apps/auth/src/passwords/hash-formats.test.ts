import { describe, expect, it } from '@jest/globals'
import { isUsableHash, parseHash } from './hash-formats.js'

const salted = 'abcdefghijklmnopqrstuu0123456789012345678901234567890'
const argon2 = (options: string, rest = 'c29tZXNhbHQ$aGFzaGhhc2g') => `$${options}$${rest}`
const firebase = (options: string, rest = 'c2FsdA==$aGFzaA==') => `$fbscrypt$${options}$${rest}`

describe('isUsableHash (docs/specification.md#passwords)', () => {
  it.each([
    `$2a$10$${salted}`,
    `$2b$04$${salted}`,
    `$2y$16$${salted}`,
    argon2('argon2id$v=19$m=19456,t=2,p=1'),
    argon2('argon2i$v=19$m=1048576,t=20,p=16'),
    firebase('v=1,n=14,r=8,p=1,ss=Bw==,sk=a2V5cw=='),
    firebase('v=1,n=14,r=8,p=1,sk=a2V5cw=='),
  ])('accepts %s', (hash) => {
    expect(isUsableHash(hash)).toBe(true)
  })

  it.each([
    ['nothing', ''],
    ['plain text', 'secret'],
    ['a bcrypt hash that is cut off', `$2b$10$${salted.slice(1)}`],
    ['a bcrypt cost no request could wait for', `$2b$31$${salted}`],
    ['a bcrypt cost below the minimum', `$2b$03$${salted}`],
    ['the broken bcrypt variant', `$2x$10$${salted}`],
    ['argon2d', argon2('argon2d$v=19$m=19456,t=2,p=1')],
    ['argon2 of another version', argon2('argon2id$v=16$m=19456,t=2,p=1')],
    ['argon2 above 1 GiB', argon2('argon2id$v=19$m=1048577,t=2,p=1')],
    ['argon2 with 21 passes', argon2('argon2id$v=19$m=19456,t=21,p=1')],
    ['argon2 with 17 lanes', argon2('argon2id$v=19$m=19456,t=2,p=17')],
    ['argon2 with no memory', argon2('argon2id$v=19$m=0,t=2,p=1')],
    ['argon2 with less than 8 KiB for each lane', argon2('argon2id$v=19$m=16,t=2,p=4')],
    ['argon2 with too short a salt', argon2('argon2id$v=19$m=19456,t=2,p=1', 'c2FsdA$aGFzaGhhc2g')],
    [
      'argon2 with a salt that is not base64',
      argon2('argon2id$v=19$m=19456,t=2,p=1', 'c29tZXNhbHR0a$aGFzaGhhc2g'),
    ],
    [
      'argon2 with bits after the last byte',
      argon2('argon2id$v=19$m=19456,t=2,p=1', 'c29tZXNhbHQ$aGFzaGhhc2h'),
    ],
    ['argon2 with a key id', argon2('argon2id$v=19$m=19456,t=2,p=1,keyid=Zm9v')],
    ['Firebase scrypt without signer key', firebase('v=1,n=14,r=8,p=1,ss=Bw==')],
    ['Firebase scrypt with too much memory', firebase('v=1,n=20,r=64,p=1,sk=a2V5cw==')],
    ['Firebase scrypt with a cost too high for its blocks', firebase('v=1,n=16,r=1,p=1,sk=a2V5cw==')],
    ['Firebase scrypt with no cost', firebase('v=1,n=0,r=8,p=1,sk=a2V5cw==')],
    ['Firebase scrypt whose hash has another length', firebase('v=1,n=14,r=8,p=1,sk=a2V5')],
    ['Firebase scrypt of another version', firebase('v=2,n=14,r=8,p=1,sk=a2V5cw==')],
    ['trailing text', `$2b$10$${salted}\n`],
  ])('refuses %s', (_name, hash) => {
    expect(isUsableHash(hash)).toBe(false)
  })

  it('reads the cost of a bcrypt hash', () => {
    expect(parseHash(`$2a$12$${salted}`)).toEqual({ algorithm: 'bcrypt', cost: 12 })
  })
})
