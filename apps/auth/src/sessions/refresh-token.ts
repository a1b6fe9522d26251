import { createHash, createHmac, randomBytes, type KeyObject } from 'node:crypto'

/** A refresh token claims to be the `counter`-th of a session. Only the database knows whether that is true. */
export type PresentedToken = { readonly sessionId: string; readonly counter: number; readonly mac: Buffer }

/** Lets the database check a MAC against its salt without leaking through timing how much of it matched. */
export type MacCheck = { readonly keyed: Buffer; readonly expected: Buffer }

const ID_BYTES = 16
const COUNTER_BYTES = 6
const MAC_BYTES = 32
/** Decodes to a multiple of three bytes, so that each token can be written in only one way. */
const FORM = /^[A-Za-z0-9_-]{72}$/
/** The column is an integer. */
const MAX_COUNTER = 2 ** 31 - 2

/**
 * Refresh tokens: session id, counter and MAC. The MAC is made with a key of the server and a salt of the session, so
 * neither a copy of the database nor the secret alone is enough to make one. The server has both and can make any
 * token again, so a client that retries gets the same answer.
 */
export class RefreshTokens {
  constructor(private readonly key: KeyObject) {}

  newSalt(): Buffer {
    return randomBytes(32)
  }

  of(sessionId: string, counter: number, salt: Buffer): string {
    const body = bodyOf(sessionId, counter)
    return Buffer.concat([body, sha256(this.#keyed(body), salt)]).toString('base64url')
  }

  /** Reads a token without a query; null for text that cannot be a token. */
  read(text: string): PresentedToken | null {
    if (!FORM.test(text)) return null
    const bytes = Buffer.from(text, 'base64url')
    const counter = bytes.readUIntBE(ID_BYTES, COUNTER_BYTES)
    if (counter > MAX_COUNTER) return null
    return { sessionId: uuidOf(bytes), counter, mac: bytes.subarray(-MAC_BYTES) }
  }

  newNonce(): Buffer {
    return randomBytes(32)
  }

  /** `nonce` must be new for each statement. */
  check({ sessionId, counter, mac }: PresentedToken, nonce: Buffer): MacCheck {
    return { keyed: this.#keyed(bodyOf(sessionId, counter)), expected: sha256(nonce, mac) }
  }

  #keyed(body: Buffer): Buffer {
    return createHmac('sha256', this.key).update(body).digest()
  }
}

/**
 * SQL that is true for the correct MAC. Both sides are hashed once more with a nonce of the statement, so the timing
 * of the comparison says nothing about the MAC.
 */
export const macMatches = (
  check: { [Part in keyof MacCheck]: string },
  nonce: string,
  salt: string,
): string => `sha256(${nonce}::bytea || sha256(${check.keyed} || ${salt})) = ${check.expected}`

function bodyOf(sessionId: string, counter: number): Buffer {
  const body = Buffer.alloc(ID_BYTES + COUNTER_BYTES)
  body.write(sessionId.replaceAll('-', ''), 'hex')
  body.writeUIntBE(counter, ID_BYTES, COUNTER_BYTES)
  return body
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, ID_BYTES)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

function sha256(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
