import type { JwtClaims } from '@signet/jwt'
import { hs256Token } from '@signet/testkit'
import { JWT_SECRET } from './server.js'

/** Signs any claims with the shared secret, as anyone who holds it could. */
export const tokenOf = (claims: JwtClaims, secret = JWT_SECRET): string => hs256Token(secret, claims)

/** An administrator's token, as created outside the service: without subject, session or expiry. */
export const serviceToken = (claims: JwtClaims = {}): string => tokenOf({ role: 'service_role', ...claims })

export const claimsOf = (token: unknown): JwtClaims =>
  JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()) as JwtClaims

/** Puts a JWT together by hand, for tokens that no honest library would sign. */
export const rawToken = (header: object, claims: object, signature: string): string =>
  `${encode(header)}.${encode(claims)}.${signature}`

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
