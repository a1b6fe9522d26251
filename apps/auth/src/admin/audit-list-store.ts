import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'

export type AuditEntry = {
  id: string
  payload: Record<string, unknown>
  ip_address: string
  created_at: Date
}

/** What a search covers, by the scope that the query names (docs/specification.md#lists). */
const SCOPES = {
  author: ['actor_username', 'actor_name'],
  action: ['action'],
  type: ['log_type'],
} as const
export type AuditScope = keyof typeof SCOPES
export const isAuditScope = (text: string): text is AuditScope => Object.hasOwn(SCOPES, text)

export type AuditSearch = { scope: AuditScope; text: string } | null

/** Run `list` and `count` as searches (`Db.search`). */
export class AuditListStore {
  constructor(private readonly t: Tables) {}

  /** Newest first. */
  async list(tx: Tx, search: AuditSearch, offset: number, limit: number): Promise<AuditEntry[]> {
    const { where, values } = conditionOf(search)
    const { rows } = await tx.query<AuditEntry>(
      `select id, payload, ip_address, created_at from ${this.t.auditLogEntries} where ${where}
       order by created_at desc, id desc offset $${values.length + 1} limit $${values.length + 2}`,
      [...values, offset, limit],
    )
    return rows
  }

  /** Entries about one user, newest first: those with one of the given actions, or all. */
  async about(
    db: Queryable,
    userId: string,
    actions: readonly string[] | null,
    limit: number,
  ): Promise<AuditEntry[]> {
    const { rows } = await db.query<AuditEntry>(
      `select id, payload, ip_address, created_at from ${this.t.auditLogEntries}
       where coalesce(payload -> 'traits' ->> 'user_id', payload ->> 'actor_id') = $1
         and ($2::text[] is null or payload ->> 'action' = any($2))
       order by created_at desc, id desc limit $3`,
      [userId, actions, limit],
    )
    return rows
  }

  /** The number of entries, up to `limit`. */
  async count(tx: Tx, search: AuditSearch, limit: number): Promise<number> {
    const { where, values } = conditionOf(search)
    const { rows } = await tx.query<{ total: number }>(
      `select count(*)::float8 as total from (
         select 1 from ${this.t.auditLogEntries} where ${where} limit $${values.length + 1}) counted`,
      [...values, limit],
    )
    return rows[0]?.total ?? 0
  }
}

function conditionOf(search: AuditSearch): { where: string; values: string[] } {
  if (search === null) return { where: 'true', values: [] }
  const members = SCOPES[search.scope].map((member) => `payload ->> '${member}' ilike $1`)
  return { where: `(${members.join(' or ')})`, values: [`%${search.text.replace(/[\\%_]/g, '\\$&')}%`] }
}
