import { Secret, TOTP } from 'otpauth'

const SECRET_BYTES = 20
const PERIOD_SECONDS = 30
export const DIGITS = 6
/** Steps before and after the current one that are accepted too: clocks differ, and people type slowly. */
const SKEW = 1

/** A secret in the form authenticator apps accept: 32 characters of base32 without padding. */
export const newTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

/** The address behind the QR code (docs/specification.md#factors), in the form that authenticator apps agree on. */
export function totpUri(options: { secret: string; issuer: string; account: string }): string {
  const { secret, issuer, account: label } = options
  return totpOf(secret, { issuer, label }).toString()
}

/**
 * The time step this code belongs to, or null. Steps up to `lastUsedStep` no longer count: someone who watched a code
 * being typed must not be able to reuse it (RFC 6238 section 5.2).
 */
export function matchingStep(
  secret: string,
  code: string,
  now: Date,
  lastUsedStep: number | null,
): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const timestamp = now.getTime()
  const totp = totpOf(secret)
  const offset = totp.validate({ token: code, timestamp, window: SKEW })
  if (offset === null) return null
  const step = totp.counter({ timestamp }) + offset
  return lastUsedStep !== null && step <= lastUsedStep ? null : step
}

const totpOf = (secret: string, names: { issuer?: string; label?: string } = {}): TOTP =>
  new TOTP({ ...names, secret, algorithm: 'SHA1', digits: DIGITS, period: PERIOD_SECONDS })
