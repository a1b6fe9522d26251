import { BCRYPT_MAX_BYTES, type Bcrypt } from './bcrypt.js'
import { verifyFirebaseScrypt } from './firebase-scrypt.js'
import { parseHash } from './hash-formats.js'
import type { Comparison } from './hash-job.js'

/** Takes at least as long as a hash of `cost`, unless the password matches. */
export function comparisonWith(hash: string | null, cost: number): Comparison {
  const decoy = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
  if (hash === null) return { decoy }
  const format = parseHash(hash)
  // The cost of other formats is not known, so assume that they are cheaper.
  const mayBeCheaper = format?.algorithm !== 'bcrypt' || format.cost < cost
  return mayBeCheaper ? { hash, decoy } : { hash }
}

export async function compare(
  bcrypt: Bcrypt,
  { hash, decoy }: Comparison,
  password: string,
): Promise<boolean> {
  if (hash !== undefined && (await matches(bcrypt, hash, password))) return true
  if (decoy !== undefined) bcrypt.verify(password, decoy)
  return false
}

async function matches(bcrypt: Bcrypt, hash: string, password: string): Promise<boolean> {
  const format = parseHash(hash)
  if (format === null) return false
  switch (format.algorithm) {
    case 'bcrypt': {
      // Passwords that bcrypt would truncate must not match. They are compared anyway, so that timing reveals nothing.
      const isSame = bcrypt.verify(password, hash)
      return isSame && Buffer.byteLength(password) <= BCRYPT_MAX_BYTES
    }
    // Loaded on the first such hash: most databases have none, and each thread would load its own copy.
    case 'argon2': {
      const { verifySync } = await import('@node-rs/argon2')
      return verifySync(hash, password)
    }
    case 'firebase-scrypt':
      return verifyFirebaseScrypt(format.parameters, password)
  }
}
