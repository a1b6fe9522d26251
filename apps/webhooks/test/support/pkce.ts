import { createHash, randomBytes } from 'node:crypto'

/** PKCE verifier and challenge. */
export function pkce(verifier = randomBytes(32).toString('base64url')) {
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}
