import type { Tx } from '@signet/db'
import { tellFunction, type Tables } from '../database/tables.js'

/** Triggers on the users table write bans, unbans and deletions; only signing out everywhere changes no row there. */
export class AccountEventStore {
  constructor(private readonly t: Tables) {}

  /** Asks other services to revoke everything that stems from a sign-in before this time. */
  async signedOut(tx: Tx, userId: string, at: Date): Promise<void> {
    await tx.query(`select ${tellFunction(this.t)}($1, 'user.signed_out', $2, '{}')`, [userId, at])
  }
}
