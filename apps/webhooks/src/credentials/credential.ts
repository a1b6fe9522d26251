import { createHmac, hash, randomInt, timingSafeEqual } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Prefix and random length of each kind of credential (docs/specification.md#credentials). */
const FORMATS = {
  clientId: ['svcl_', 24],
  clientSecret: ['svs_', 43],
  code: ['svc_', 43],
  accessToken: ['sva_', 43],
  refreshToken: ['svr_', 43],
  sessionId: ['', 43],
  txn: ['', 43],
} as const satisfies Record<string, readonly [string, number]>

export type CredentialKind = keyof typeof FORMATS

/** Returns random base62 text. Each character is chosen separately, so there is no bias; 43 characters contain 256 bits. */
export function randomBase62(length: number): string {
  let text = ''
  for (let index = 0; index < length; index += 1) text += BASE62.charAt(randomInt(62))
  return text
}

/** Base62 digits of a number, most significant first, left-padded with `0`. */
export function toBase62(value: number, length: number): string {
  let text = ''
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = BASE62.charAt(rest % 62) + text
  return text.padStart(length, '0')
}

export function newCredential(kind: CredentialKind): string {
  const [prefix, length] = FORMATS[kind]
  return prefix + randomBase62(length)
}

/** Returns a credential that is always the same for the same key and message, and reveals neither. */
export function derivedCredential(kind: CredentialKind, key: Buffer, message: string): string {
  const [prefix, length] = FORMATS[kind]
  // With 512 bits for at most 256, the bias is negligible.
  let rest = BigInt(`0x${createHmac('sha512', key).update(message).digest('hex')}`)
  let text = ''
  for (; text.length < length; rest /= 62n) text += BASE62.charAt(Number(rest % 62n))
  return prefix + text
}

/** Whether a text has the form of a credential. Others need no query. */
export function hasFormOf(kind: CredentialKind, text: string): boolean {
  const [prefix, length] = FORMATS[kind]
  return (
    text.length === prefix.length + length &&
    text.startsWith(prefix) &&
    /^[0-9A-Za-z]+$/.test(text.slice(prefix.length))
  )
}

/** The digest that tables store instead of a credential. A fast hash is enough, because nobody can guess 256 random bits. */
export const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Compares two digests in constant time. */
export const sameDigest = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
