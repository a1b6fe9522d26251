import type { Queryable } from '@signet/db'
import type { Tables } from '../database/tables.js'
import type { AuditPayload } from './audit.js'

export class AuditStore {
  constructor(private readonly t: Tables) {}

  async insert(db: Queryable, payloads: readonly AuditPayload[], ip: string, now: Date): Promise<void> {
    await db.query(
      {
        name: 'audit_insert',
        text: `insert into ${this.t.auditLogEntries} (payload, ip_address, created_at)
          select payload, $2, $3 from jsonb_array_elements($1::jsonb) as payload`,
      },
      [JSON.stringify(payloads), ip, now],
    )
  }
}
