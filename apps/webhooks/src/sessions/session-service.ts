import { randomBytes } from 'node:crypto'
import type { Db } from '@signet/db'
import { hasFormOf, newCredential, sha256 } from '../credentials/credential.js'
import {
  insertSession,
  renewSession,
  touchSession,
  type Session,
  type SignedInAccount,
} from './session-store.js'

/** A session and, if it is new or has a new id, that id for the cookie. */
export type OpenSession = Session & { readonly newId?: string }

/** Browser sessions (docs/specification.md#page-protection). The id is only in the cookie, and its hash in the table. */
export class SessionService {
  constructor(private readonly db: Db) {}

  /** Returns the live session of a cookie value. Counts as activity. */
  async find(id: string | undefined): Promise<OpenSession | null> {
    if (id === undefined || !hasFormOf('sessionId', id)) return null
    return touchSession(this.db, sha256(id))
  }

  /** Returns the session of the cookie, or a new anonymous one: a value that we did not issue never becomes a session. */
  async findOrCreate(id: string | undefined): Promise<OpenSession> {
    const found = await this.find(id)
    if (found) return found
    const newId = newCredential('sessionId')
    return { ...(await insertSession(this.db, { idHash: sha256(newId), csrfKey: newKey() })), newId }
  }

  /** Puts the account into the session under a new id (session fixation). Returns null if the session is gone. */
  signIn(session: Session, account: SignedInAccount): Promise<OpenSession | null> {
    return this.#renew(session, account)
  }

  /** Removes the account from the session, again under a new id. */
  signOut(session: Session): Promise<OpenSession | null> {
    return this.#renew(session, null)
  }

  async #renew(session: Session, account: SignedInAccount | null): Promise<OpenSession | null> {
    const newId = newCredential('sessionId')
    const renewed = await renewSession(this.db, {
      oldHash: session.idHash,
      idHash: sha256(newId),
      csrfKey: newKey(),
      account,
    })
    return renewed && { ...renewed, newId }
  }
}

const newKey = () => randomBytes(32)
