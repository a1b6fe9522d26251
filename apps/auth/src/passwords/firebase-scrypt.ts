import { createCipheriv, scryptSync, timingSafeEqual } from 'node:crypto'
import type { FirebaseScrypt } from './hash-formats.js'

const KEY_BYTES = 32

/**
 * Firebase's variant of scrypt: the key derived from the password encrypts the project's signer key with AES-256-CTR,
 * and the result is the stored hash. Blocks for as long as scrypt takes, so only a worker may call it.
 */
export function verifyFirebaseScrypt(parameters: FirebaseScrypt, password: string): boolean {
  const { memoryCost, rounds, parallelism, salt, signerKey, hash } = parameters
  const N = 2 ** memoryCost
  const maxmem = 128 * (N + parallelism + 2) * rounds * 2
  const key = scryptSync(password, salt, KEY_BYTES, { N, r: rounds, p: parallelism, maxmem })
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  return timingSafeEqual(Buffer.concat([cipher.update(signerKey), cipher.final()]), hash)
}
