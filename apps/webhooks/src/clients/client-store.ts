import type { Queryable } from '@signet/db'
import type { AuthMethod, Client, ClientExtra, ClientMetadata, GrantType } from './client.js'

type ClientRow = {
  client_id: string
  secret_hash: Buffer | null
  auth_method: AuthMethod
  redirect_uris: string[]
  grant_types: GrantType[]
  scope: string
  client_name: string
  extra: ClientExtra
  first_party: boolean
  disabled: boolean
  read_at: string
}

const FIND_CLIENT = {
  name: 'find-client',
  text: `select client_id, secret_hash, auth_method, redirect_uris, grant_types, scope, client_name, extra, first_party,
                disabled_at is not null as disabled, clock_timestamp()::text as read_at
           from oauth_clients where client_id = $1`,
}

/** Returns the client, and the time of the database when it was read. A request that starts with this query counts as arriving then. */
export async function findClient(
  db: Queryable,
  clientId: string,
): Promise<{ client: Client; readAt: string } | null> {
  const { rows } = await db.query<ClientRow>(FIND_CLIENT, [clientId])
  return rows[0] ? { client: toClient(rows[0]), readAt: rows[0].read_at } : null
}

export async function insertClient(
  db: Queryable,
  client: ClientMetadata & { clientId: string; secretHash: Buffer | null },
): Promise<{ issuedAt: number }> {
  const { rows } = await db.query<{ issued_at: number }>(
    `insert into oauth_clients
       (client_id, secret_hash, auth_method, redirect_uris, grant_types, response_types, scope, client_name, extra)
     values ($1, $2, $3, $4, $5, array['code'], $6, $7, $8)
     returning extract(epoch from created_at)::integer as issued_at`,
    [
      client.clientId,
      client.secretHash,
      client.authMethod,
      client.redirectUris,
      client.grantTypes,
      client.scope,
      client.clientName,
      JSON.stringify(client.extra),
    ],
  )
  return { issuedAt: rows[0]?.issued_at ?? 0 }
}

const toClient = (row: ClientRow): Client => ({
  clientId: row.client_id,
  secretHash: row.secret_hash,
  authMethod: row.auth_method,
  redirectUris: row.redirect_uris,
  grantTypes: row.grant_types,
  scope: row.scope,
  clientName: row.client_name,
  extra: row.extra,
  firstParty: row.first_party,
  disabled: row.disabled,
})
