import { crc32 } from 'node:zlib'
import { randomBase62, toBase62 } from './credential.js'

export type PersonalTokenStatus = 'active' | 'expired' | 'inactive'

export type PersonalToken = {
  id: string
  name: string
  hint: string
  createdAt: Date
  expiresAt: Date
  lastUsedAt: Date | null
  status: PersonalTokenStatus
}

const PREFIX = 'svp_'
const BODY_LENGTH = 30
const CHECKSUM_LENGTH = 6
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`)

/**
 * Builds a personal token from a 30-character body. Secret scanners can find leaks by its prefix and checksum
 * (docs/specification.md#personal-tokens).
 */
export function personalToken(body: string = randomBase62(BODY_LENGTH)): string {
  return `${PREFIX}${body}${checksum(body)}`
}

/** Returns false for everything that cannot be one of our personal tokens, which then needs no query. */
export function isPersonalToken(text: string): boolean {
  if (!FORM.test(text)) return false
  const body = text.slice(PREFIX.length, PREFIX.length + BODY_LENGTH)
  return text === personalToken(body)
}

/** The part of a token that lists show. */
export const hintOf = (token: string): string => `${PREFIX}…${token.slice(-4)}`

const checksum = (body: string): string => toBase62(crc32(PREFIX + body), CHECKSUM_LENGTH)
