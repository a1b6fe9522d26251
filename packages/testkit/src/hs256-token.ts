import { createHmac } from 'node:crypto'

/**
 * A JWT with any claims, signed with HS256 as any holder of the shared secret could. Uses `node:crypto` alone, so
 * that no fault of the product's own signing hides in a test.
 */
export function hs256Token(secret: string, claims: object): string {
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
