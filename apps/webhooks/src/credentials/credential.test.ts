import { expect, it } from '@jest/globals'
import {
  derivedCredential,
  hasFormOf,
  newCredential,
  randomBase62,
  toBase62,
  type CredentialKind,
} from './credential.js'

it.each<[CredentialKind, RegExp]>([
  ['clientId', /^svcl_[0-9A-Za-z]{24}$/],
  ['clientSecret', /^svs_[0-9A-Za-z]{43}$/],
  ['code', /^svc_[0-9A-Za-z]{43}$/],
  ['accessToken', /^sva_[0-9A-Za-z]{43}$/],
  ['refreshToken', /^svr_[0-9A-Za-z]{43}$/],
  ['sessionId', /^[0-9A-Za-z]{43}$/],
])('makes a %s of the documented form and recognizes it', (kind, form) => {
  const credential = newCredential(kind)
  expect(credential).toMatch(form)
  expect(hasFormOf(kind, credential)).toBe(true)
  for (const other of [
    `${credential}x`,
    credential.slice(1),
    credential.replace(/.$/, '-'),
    credential.replace(/.$/, '_'),
    '',
  ])
    expect(hasFormOf(kind, other)).toBe(false)
})

it('uses every base62 character about equally often', () => {
  const counts = new Map<string, number>()
  for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1)
  expect(counts.size).toBe(62)
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(250)
})

it('writes numbers in base62 with leading zeros', () => {
  expect([toBase62(0, 3), toBase62(61, 3), toBase62(62, 3), toBase62(513_780_230, 6)]).toEqual([
    '000',
    '00z',
    '010',
    '0Yllhu',
  ])
})

it('derives the same credential from the same key and message, and another one from any other', () => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const derived = derivedCredential('refreshToken', key, 'a')
  expect(hasFormOf('refreshToken', derived)).toBe(true)
  expect(derivedCredential('refreshToken', key, 'a')).toBe(derived)
  expect(derivedCredential('refreshToken', other, 'a')).not.toBe(derived)
  expect(derivedCredential('refreshToken', key, 'b')).not.toBe(derived)
})
