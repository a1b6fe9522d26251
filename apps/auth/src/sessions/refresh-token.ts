import { type KeyObject } from 'node:crypto'
import { randomUUID } from 'node:crypto'
import { keyedHash, sha256 } from '../secrets/derived-keys.js'

/** A refresh token and what the database keeps of it. */
export type RefreshToken = { readonly id: string; readonly text: string; readonly hash: Buffer }

/** 43 characters of base64url: an HMAC-SHA256. Everything else is refused before the database is asked. */
const FORM = /^[A-Za-z0-9_-]{43}$/

/**
 * Refresh tokens follow from their row id (contract 4.1): a child can be handed out again to a client that asked twice,
 * although nothing but its SHA-256 is stored.
 */
export class RefreshTokens {
  constructor(private readonly key: KeyObject) {}

  create(): RefreshToken {
    return this.ofRow(randomUUID())
  }

  ofRow(id: string): RefreshToken {
    const text = keyedHash(this.key, id).toString('base64url')
    return { id, text, hash: sha256(text) }
  }

  /** The stored hash of a token that a client sent; null when it cannot be one. */
  hashOf(text: string): Buffer | null {
    return FORM.test(text) ? sha256(text) : null
  }
}
