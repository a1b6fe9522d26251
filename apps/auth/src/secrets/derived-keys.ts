import { createHash, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** Keys derived from AUTH_JWT_SECRET, one per purpose and independent of each other. */
export type DerivedKeys = {
  /** Derives refresh tokens from the ids of their sessions (docs/specification.md#refresh-tokens, decision 0121). */
  readonly refreshTokens: KeyObject
  /** Hashes one-time codes and link tokens (docs/specification.md#one-time-tokens). */
  readonly oneTimeTokens: KeyObject
  /** Encrypts data that must stay readable: TOTP secrets and stored provider tokens (docs/specification.md#data-at-rest). */
  readonly encryption: KeyObject
  /** Tells recipients of messages apart without storing their addresses. */
  readonly recipients: KeyObject
  /** Encrypts the private keys that sign access tokens. */
  readonly signingKeys: KeyObject
  /** Protects cookies and form tokens of the sign-in page. */
  readonly pages: KeyObject
  /** Hashes the accounts and networks whose password guesses are counted. */
  readonly guesses: KeyObject
  /** Binds flows through providers to browsers. */
  readonly flows: KeyObject
  /** Derives WebAuthn challenges from their ids (docs/specification.md#webauthn). */
  readonly challenges: KeyObject
}

export function deriveKeys(secret: string): DerivedKeys {
  const derive = (purpose: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `signet-auth ${purpose}`, 32)))
  return {
    refreshTokens: derive('refresh tokens'),
    oneTimeTokens: derive('one-time tokens'),
    encryption: derive('encryption at rest'),
    recipients: derive('message recipients'),
    signingKeys: derive('signing keys'),
    pages: derive('sign-in page'),
    guesses: derive('password guesses'),
    flows: derive('provider flows'),
    challenges: derive('webauthn challenges'),
  }
}

/** HMAC-SHA256 over length-prefixed parts, so their boundaries are unambiguous. */
export function keyedHash(key: KeyObject, ...parts: readonly string[]): Buffer {
  const hmac = createHmac('sha256', key)
  for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:`).update(part)
  return hmac.digest()
}

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
