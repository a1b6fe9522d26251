import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto'

const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts text for the database with AES-256-GCM. `context`, the id of the row, is authenticated too, so a value that is moved to another
 * row does not open.
 */
export function seal(key: KeyObject, context: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${VERSION}.${sealed.toString('base64url')}`
}

/** Returns the sealed text. Throws if the key, the context or any bit differs. */
export function unseal(key: KeyObject, context: string, sealed: string): string {
  const [version, data = ''] = sealed.split('.', 2)
  const bytes = Buffer.from(data, 'base64url')
  if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('not a sealed value')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}

/** The sealed text; null if it does not open. What was sealed before a new AUTH_JWT_SECRET never opens again. */
export function tryUnseal(key: KeyObject, context: string, sealed: string): string | null {
  try {
    return unseal(key, context, sealed)
  } catch {
    return null
  }
}
