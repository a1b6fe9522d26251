import type { Queryable } from '@signet/db'

/** An application with access to an account: everything that the account has granted to one client. */
export type Connection = {
  readonly clientId: string
  readonly clientName: string
  readonly scopes: readonly string[]
  readonly since: Date
  /** When it last got a token, which applications in use do every hour. */
  readonly lastActiveAt: Date
}

type ConnectionRow = {
  client_id: string
  client_name: string
  scopes: string[]
  since: Date
  last_active_at: Date
}

/** Returns the applications that can still act, because they have a grant with a live token. Most recently used first. */
export async function listConnections(db: Queryable, accountId: string): Promise<Connection[]> {
  const { rows } = await db.query<ConnectionRow>(
    `select c.client_id, c.client_name, array_agg(distinct word) as scopes, min(g.created_at) as since,
            max(coalesce(live.last_at, g.created_at)) as last_active_at
       from oauth_grants g
       join oauth_clients c on c.client_id = g.client_id
      cross join lateral string_to_table(g.scope, ' ') as word
      cross join lateral (
        select max(created_at) as last_at, bool_or(expires_at > now() and revoked_at is null) as is_live from (
          select created_at, expires_at, revoked_at from oauth_access_tokens where grant_id = g.id
          union all
          select created_at, expires_at, revoked_at from oauth_refresh_tokens where grant_id = g.id
        ) t
      ) live
      where g.account_id = $1 and g.revoked_at is null and live.is_live
      group by c.client_id, c.client_name
      order by last_active_at desc, c.client_id`,
    [accountId],
  )
  return rows.map((row) => ({
    clientId: row.client_id,
    clientName: row.client_name,
    scopes: row.scopes,
    since: row.since,
    lastActiveAt: row.last_active_at,
  }))
}

/** Ends all grants of the account to a client, and with them every token. Returns the grants that were live. */
export async function revokeConnection(
  db: Queryable,
  { accountId, clientId }: { accountId: string; clientId: string },
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `update oauth_grants set revoked_at = now(), revoke_reason = 'revoked_by_user'
      where account_id = $1 and client_id = $2 and revoked_at is null
  returning id`,
    [accountId, clientId],
  )
  return rows.map(({ id }) => id)
}
