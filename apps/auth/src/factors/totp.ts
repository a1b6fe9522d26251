import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const SECRET_BYTES = 20
const PERIOD_SECONDS = 30
const DIGITS = 6
/** Steps before and after the current one that are accepted too: clocks differ, and people type slowly. */
const SKEW = 1
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A secret as authenticator apps take it: 32 characters of base32 without padding. */
export const newTotpSecret = (): string => encodeBase32(randomBytes(SECRET_BYTES))

/** The address behind the QR code (contract 1.20), in the form that authenticator apps agree on. */
export function totpUri({
  secret,
  issuer,
  account,
}: {
  secret: string
  issuer: string
  account: string
}): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const parameters = [
    'algorithm=SHA1',
    `digits=${DIGITS}`,
    `issuer=${encodeURIComponent(issuer)}`,
    `period=${PERIOD_SECONDS}`,
    `secret=${secret}`,
  ]
  return `otpauth://totp/${label}?${parameters.join('&')}`
}

/**
 * The time step whose code this is, or null. Steps up to `lastUsedStep` do not count any more: whoever saw a code
 * typed in must not be able to use it too (RFC 6238 section 5.2).
 */
export function matchingStep(
  secret: string,
  code: string,
  now: Date,
  lastUsedStep: number | null,
): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const current = Math.floor(now.getTime() / 1000 / PERIOD_SECONDS)
  for (let step = current - SKEW; step <= current + SKEW; step++) {
    if (lastUsedStep !== null && step <= lastUsedStep) continue
    if (timingSafeEqual(Buffer.from(codeOf(secret, step)), Buffer.from(code))) return step
  }
  return null
}

/** RFC 4226 section 5.3 over the number of the step. */
function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', decodeBase32(secret)).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0xf
  const number = digest.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

function encodeBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((group) => BASE32[parseInt(group.padEnd(5, '0'), 2)]).join('')
}

function decodeBase32(text: string): Buffer {
  const bits = [...text].map((character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)))
}
