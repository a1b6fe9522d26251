import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ENTRY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/

/** A ciphertext (nonce, tag, encrypted bytes) and the id of its key. */
export type SealedSecret = { keyId: string; ciphertext: Buffer }

/** The key setting is invalid. The message gives the position of the entry, never its value. */
export class SecretKeysError extends Error {
  override name = 'SecretKeysError'
}

/** A stored secret cannot be decrypted: its key is missing, it belongs to another row, or it was modified. */
export class SecretUnreadableError extends Error {
  override name = 'SecretUnreadableError'
}

/**
 * AES-256-GCM for secrets that must be recoverable. The first key encrypts and all keys decrypt, so operators rotate keys by prepending
 * a new one. `context` is authenticated but not stored, so a ciphertext that was copied to another row does not decrypt there.
 */
export class SecretBox {
  readonly #keys: ReadonlyMap<string, KeyObject>
  readonly #sealingKeyId: string

  private constructor(keys: ReadonlyMap<string, KeyObject>, sealingKeyId: string) {
    this.#keys = keys
    this.#sealingKeyId = sealingKeyId
  }

  /** Parses `WEBHOOKS_SECRET_KEYS`: a comma-separated list of `keyid:base64(32 bytes)`. */
  static parse(list: string): SecretBox {
    const keys = new Map<string, KeyObject>()
    for (const [index, entry] of list.split(',').entries()) {
      const [, keyId = '', encoded = ''] = KEY_ENTRY.exec(entry.trim()) ?? []
      const bytes = Buffer.from(encoded, 'base64')
      if (bytes.length !== KEY_BYTES) {
        throw new SecretKeysError(
          `secret key ${index + 1} is not of the form keyid:base64(${KEY_BYTES} bytes)`,
        )
      }
      if (new Set(bytes).size < 8) throw new SecretKeysError(`secret key ${index + 1} is not random`)
      if (keys.has(keyId)) throw new SecretKeysError(`secret key ${index + 1} repeats an id`)
      keys.set(keyId, createSecretKey(bytes))
    }
    const [first = ''] = keys.keys()
    return new SecretBox(keys, first)
  }

  /** The id of the key that encrypts. Rows with another key can be re-encrypted. */
  get sealingKeyId(): string {
    return this.#sealingKeyId
  }

  /** Derives a key for another purpose from each key, starting with the one that encrypts (HKDF, RFC 5869). */
  derive(purpose: string): Buffer[] {
    const all = [...this.#keys.values()]
    return all.map((key) => Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)))
  }

  seal(secret: string, context: string): SealedSecret {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key(this.#sealingKeyId), nonce, {
      authTagLength: TAG_BYTES,
    })
    cipher.setAAD(Buffer.from(context))
    const encrypted = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
    return { keyId: this.#sealingKeyId, ciphertext: Buffer.concat([nonce, cipher.getAuthTag(), encrypted]) }
  }

  /** False if `open` cannot succeed until an operator configures the key. */
  hasKeyOf({ keyId }: SealedSecret): boolean {
    return this.#keys.has(keyId)
  }

  open({ keyId, ciphertext }: SealedSecret, context: string): string {
    const key = this.#key(keyId)
    try {
      const nonce = ciphertext.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(ciphertext.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const encrypted = ciphertext.subarray(NONCE_BYTES + TAG_BYTES)
      return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8')
    } catch (cause) {
      throw new SecretUnreadableError('the secret does not open in this context', { cause })
    }
  }

  #key(keyId: string): KeyObject {
    const key = this.#keys.get(keyId)
    if (key === undefined) throw new SecretUnreadableError('the key of this secret is not configured')
    return key
  }
}

/** The context of an endpoint's signing secret, which makes it decrypt only for this endpoint of this account. */
export const endpointSecretContext = (endpoint: { id: string; accountId: string }): string =>
  `webhook-endpoint-secret:${endpoint.accountId}:${endpoint.id}`
