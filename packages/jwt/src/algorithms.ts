/** The JWS algorithms Signet signs and verifies with; `none` has no place in the type. */
export const JWT_ALGORITHMS = ['HS256', 'RS256', 'ES256', 'EdDSA'] as const

/** One of HS256, RS256, ES256 and EdDSA (Ed25519 only). */
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]

/** Whether a text taken from outside names a supported algorithm; the comparison is exact (RFC 7515 section 4.1.1). */
export function isJwtAlgorithm(name: string): name is JwtAlgorithm {
  return (JWT_ALGORITHMS as readonly string[]).includes(name)
}
