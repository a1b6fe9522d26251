import { type Tx } from '@signet/db'
import { tellFunction, type Tables } from '../database/tables.js'

/** Bans, their ends and deletions are told by triggers of the table of users; only a sign-out everywhere has no row there. */
export class AccountEventStore {
  constructor(private readonly t: Tables) {}

  /** Ends elsewhere, too, what goes back to a sign-in up to this time. */
  async signedOut(tx: Tx, userId: string, at: Date): Promise<void> {
    await tx.query(`select ${tellFunction(this.t)}($1, 'user.signed_out', $2, '{}')`, [userId, at])
  }
}
