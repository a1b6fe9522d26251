import { createHmac } from 'node:crypto'
import { sameDigest } from '../credentials/credential.js'
import type { Session } from './session-store.js'

/** The forms that change something. Each has its own token. Forms of the portal are named by their URL. */
export type FormName = 'decision' | 'logout' | 'sign-out' | `/portal${string}`

/** The hidden `csrf` field of one form in one authorization of one session (docs/specification.md#page-protection). */
export const csrfToken = (session: Session, txn: string, form: FormName): string =>
  mac(session, txn, form).toString('base64url')

export function isCsrfToken(session: Session, txn: string, form: FormName, token: string): boolean {
  return sameDigest(mac(session, txn, form), Buffer.from(token, 'base64url'))
}

const mac = (session: Session, txn: string, form: FormName): Buffer =>
  createHmac('sha256', session.csrfKey).update(`${txn}.${form}`).digest()
