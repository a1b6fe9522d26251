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

/** A personal token for a 30-character body: prefix and checksum let secret scanners find leaks (docs/specification.md#personal-tokens). */
export function personalToken(body: string = randomBase62(BODY_LENGTH)): string {
  return `${PREFIX}${body}${checksum(body)}`
}

/** False for everything that cannot be a personal token of ours, so that it costs no query. */
export function isPersonalToken(text: string): boolean {
  if (!FORM.test(text)) return false
  const body = text.slice(PREFIX.length, PREFIX.length + BODY_LENGTH)
  return text === personalToken(body)
}

/** What a list shows of a token. */
export const hintOf = (token: string): string => `${PREFIX}…${token.slice(-4)}`

const checksum = (body: string): string => toBase62(crc32(PREFIX + body), CHECKSUM_LENGTH)
