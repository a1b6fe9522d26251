import { createHash, timingSafeEqual } from 'node:crypto'
import { invalid } from '../errors/auth-error.js'

export type Challenge = { readonly challenge: string; readonly method: 's256' | 'plain' }

const FORM = /^[A-Za-z0-9._~-]{43,128}$/

/**
 * The challenge of a request, null when it has none (docs/specification.md#pkce). An incomplete or malformed
 * challenge is refused.
 */
export function challengeOf(body: {
  code_challenge?: string
  code_challenge_method?: string
}): Challenge | null {
  const challenge = body.code_challenge ?? ''
  const method = (body.code_challenge_method ?? '').toLowerCase()
  if (challenge === '' && method === '') return null
  if (challenge === '' || method === '')
    throw invalid('PKCE needs both code_challenge and code_challenge_method')
  if (method !== 's256' && method !== 'plain') throw invalid('code_challenge_method must be s256 or plain')
  if (!FORM.test(challenge))
    throw invalid('code_challenge must be 43 to 128 characters from A-Z, a-z, 0-9, ".", "_", "~" and "-"')
  return { challenge, method }
}

/** RFC 7636 section 4.6, in constant time. */
export function verifierMatches({ challenge, method }: Challenge, verifier: string): boolean {
  const given = Buffer.from(
    method === 'plain' ? verifier : createHash('sha256').update(verifier).digest('base64url'),
  )
  const wanted = Buffer.from(challenge)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
