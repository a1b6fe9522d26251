import { Buffer } from 'node:buffer'
import { InvalidSecretError } from './errors.js'

/** A complete signing secret, including `whsec_`. Several while one secret replaces another. */
export type Secret = string | readonly string[]

const SECRET_FORM = /^whsec_[\x21-\x7e]+$/
// Standard or URL-safe Base64, with or without padding.
const BASE64_FORM = /^[A-Za-z0-9+/_-]+={0,2}$/
const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64

/**
 * Returns the secrets to try, after checking each for mistakes. Anyone could sign with an empty secret. A secret that was cut, has no
 * prefix or contains the line end of its file would verify nothing, so this throws instead of refusing every delivery.
 */
export function secretsOf(secret: Secret): readonly string[] {
  const secrets = Array.isArray(secret) ? (secret as readonly string[]) : [secret as string]
  if (secrets.length === 0) throw new InvalidSecretError('no secret was given')
  for (const one of secrets) {
    if (typeof one !== 'string' || one === '') throw new InvalidSecretError('it is empty or no string')
    if (!one.startsWith('whsec_')) throw new InvalidSecretError('it must be whole, with its whsec_ in front')
    if (!SECRET_FORM.test(one)) throw new InvalidSecretError('it holds a space or a line end')
    const key = standardKey(one)
    if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES)
      throw new InvalidSecretError('after whsec_ it must be the Base64 of 24 to 64 bytes; was it cut?')
  }
  return secrets
}

/** The key of the Standard Webhooks signature: the decoded bytes. Empty if they are not Base64. */
export function standardKey(secret: string): Buffer {
  const encoded = secret.slice('whsec_'.length)
  return Buffer.from(BASE64_FORM.test(encoded) ? encoded : '', 'base64')
}
