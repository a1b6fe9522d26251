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

/** A session and, when it is new or has a new id, that id for the cookie. */
export type OpenSession = Session & { readonly newId?: string }

/** Browser sessions (docs/specification.md#page-protection): the id is only in the cookie, its hash in the table. */
export class SessionService {
  constructor(private readonly db: Db) {}

  /** The live session of a cookie value; counts as activity. */
  async find(id: string | undefined): Promise<OpenSession | null> {
    if (id === undefined || !hasFormOf('sessionId', id)) return null
    return touchSession(this.db, sha256(id))
  }

  /** The session of the cookie, or a new anonymous one: a value that we did not issue never becomes a session. */
  async findOrCreate(id: string | undefined): Promise<OpenSession> {
    const found = await this.find(id)
    if (found) return found
    const newId = newCredential('sessionId')
    return { ...(await insertSession(this.db, { idHash: sha256(newId), csrfKey: newKey() })), newId }
  }

  /** Puts the account into the session under a new id (session fixation); null when the session is gone. */
  signIn(session: Session, account: SignedInAccount): Promise<OpenSession | null> {
    return this.#renew(session, account)
  }

  /** Takes the account out, again under a new id. */
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
