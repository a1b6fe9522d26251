const MESSAGES = {
  malformed: 'the token is not a well-formed JWT',
  algorithm: 'the algorithm of the token is not accepted',
  unknown_key: 'no known key belongs to the token',
  bad_signature: 'the signature of the token does not verify',
  missing_exp: 'the token has no expiry time',
  expired: 'the token has expired',
  not_yet_valid: 'the token is not valid yet',
  audience: 'the token is meant for another audience',
  issuer: 'the token comes from another issuer',
} as const

/** Why a token was refused. For logs and tests; an API answers all of them alike. */
export type JwtErrorReason = keyof typeof MESSAGES

/** A token that must not be trusted. The message is fixed per reason and contains no part of the token. */
export class JwtError extends Error {
  override readonly name = 'JwtError'

  constructor(
    readonly reason: JwtErrorReason,
    options?: ErrorOptions,
  ) {
    super(MESSAGES[reason], options)
  }
}
