import { randomBytes, type KeyObject } from 'node:crypto'
import type { Db } from '@signet/db'
import { authError } from '../errors/auth-error.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { isUuid } from '../users/uuid.js'
import type { SpentChallengeStore } from './spent-challenge-store.js'

/** What a challenge is for. A registration belongs to one user and session. A sign-in belongs to nobody yet. */
export type Purpose =
  | { readonly kind: 'registration'; readonly userId: string; readonly sessionId: string }
  | { readonly kind: 'sign_in' }

export type IssuedChallenge = { readonly id: string; readonly bytes: Buffer; readonly expiresAt: Date }

type Deps = { db: Db; store: SpentChallengeStore; key: KeyObject; lifeMs: number; now: () => Date }

const DAY_MS = 86_400_000
const TIME_BYTES = 6

/**
 * Challenges for passkeys. Anyone may ask for one, because nothing is stored: its bytes are a keyed hash of its id and purpose, and the
 * id begins with the time when it expires. The id is stored when a valid response arrives, and only the first response can do that
 * (decision 0200).
 */
export class Challenges {
  constructor(private readonly deps: Deps) {}

  issue(purpose: Purpose): IssuedChallenge {
    const expiresAt = new Date(this.deps.now().getTime() + this.deps.lifeMs)
    const time = Buffer.alloc(TIME_BYTES)
    time.writeUIntBE(expiresAt.getTime(), 0, TIME_BYTES)
    const id = asUuid(Buffer.concat([time, randomBytes(10)]))
    return { id, bytes: this.#bytesOf(id, purpose), expiresAt }
  }

  /** The bytes that must have been signed. */
  expected(givenId: string, purpose: Purpose): Buffer {
    const { lifeMs, now } = this.deps
    const id = givenId.toLowerCase()
    const age = now().getTime() - expiryOf(id).getTime()
    // Rows of spent challenges are deleted after a day, so ids that expired earlier are refused. Only a server whose clock is ahead issues
    // ids that expire much later.
    if (age > DAY_MS || -age > lifeMs + DAY_MS) throw notFound()
    if (age >= 0) throw expired()
    return this.#bytesOf(id, purpose)
  }

  /**
   * Uses up a challenge. Call this only after a valid response, so that strangers cannot void a challenge that someone is about to answer.
   */
  async spend(givenId: string): Promise<void> {
    const { db, store } = this.deps
    const id = givenId.toLowerCase()
    if (!(await store.spend(db, id, expiryOf(id)))) throw notFound()
  }

  #bytesOf(id: string, purpose: Purpose): Buffer {
    const binding = purpose.kind === 'registration' ? [purpose.userId, purpose.sessionId] : []
    return keyedHash(this.deps.key, purpose.kind, id, ...binding)
  }
}

function expiryOf(id: string): Date {
  if (!isUuid(id)) throw authError('invalid', 'validation_failed', 'challenge_id must be a UUID')
  return new Date(Buffer.from(id.replaceAll('-', ''), 'hex').readUIntBE(0, TIME_BYTES))
}

/** A version 8 UUID, whose content its maker decides (RFC 9562 section 5.8). */
function asUuid(bytes: Buffer): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const notFound = () =>
  authError(
    'invalid',
    'webauthn_challenge_not_found',
    'This challenge does not exist or was used before, ask for another',
  )
const expired = () =>
  authError('invalid', 'webauthn_challenge_expired', 'This challenge has expired, request another')
