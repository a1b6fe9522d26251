import { createHmac, randomBytes } from 'node:crypto'
import { sameDigest, sha256 } from '../credentials/credential.js'
import type { Session } from '../sessions/session-store.js'
import { returnPath } from './return-path.js'

const MAC_BYTES = 32
const NONCE_BYTES = 16

/**
 * The `state` of a sign-in (RFC 6749 section 10.12). It contains the path at which the person continues, authenticated with the key of
 * the browser's session. It is valid only in that session, and only until the sign-in, which changes the key.
 */
export function sealState(session: Session, returnTo: string): string {
  const payload = Buffer.concat([randomBytes(NONCE_BYTES), Buffer.from(returnTo)])
  return Buffer.concat([mac(session, 'state', payload), payload]).toString('base64url')
}

/** Returns what {@link sealState} sealed in this session, or null. */
export function openState(session: Session, state: string): string | null {
  const { tag, payload } = partsOf(state)
  return sameDigest(tag, mac(session, 'state', payload)) ? textOf(payload) : null
}

/** Returns the path in a state that is no longer valid, checked like any address from outside. */
export const unverifiedReturnPath = (state: string, baseUrl: string): string | null =>
  returnPath(textOf(partsOf(state).payload), baseUrl)

/** The PKCE verifier that belongs to a state (RFC 7636 section 4.1). Only this service can derive it. */
export const verifierOf = (session: Session, state: string): string =>
  mac(session, 'verifier', Buffer.from(state)).toString('base64url')

/** RFC 7636 section 4.2, method S256. */
export const challengeOf = (verifier: string): string => sha256(verifier).toString('base64url')

function partsOf(state: string): { tag: Buffer; payload: Buffer } {
  const bytes = Buffer.from(state, 'base64url')
  return { tag: bytes.subarray(0, MAC_BYTES), payload: bytes.subarray(MAC_BYTES) }
}

const textOf = (payload: Buffer): string => payload.subarray(NONCE_BYTES).toString()

const mac = ({ csrfKey }: Session, use: 'state' | 'verifier', data: Buffer): Buffer =>
  createHmac('sha256', csrfKey).update(`sign-in ${use}\n`).update(data).digest()
