import { createHash } from 'node:crypto'
import type { Db } from '@signet/db'

// SQL expressions for row n.
const hash = (what: string) => `sha256(('${what}' || n)::bytea)`
const account = `md5('account' || n % 5000)::uuid`
const client = `'svcl_' || lpad((1 + n % 2000)::text, 8, '0')`
const grant = `md5('grant' || n)::uuid`
const expiry = (life: string) =>
  `now() + case when n % 1000 = 0 then interval '-1 minute' else interval '${life}' end`

/**
 * Tables large enough that the plan changes when the right index is missing: 2,000 clients, and 20,000 rows of 5,000 accounts in every
 * other table, one in a thousand of them past its time.
 */
const FILL = [
  `insert into oauth_clients (client_id, auth_method, redirect_uris, grant_types, response_types, scope, client_name, created_at)
   select 'svcl_' || lpad(n::text, 8, '0'), 'none', array['http://127.0.0.1/'], array['authorization_code'], array['code'],
     'mcp:connect', 'x', now() - case when n % 1000 = 0 then interval '100 days' else interval '1 hour' end
   from generate_series(1, 2000) n`,
  `insert into login_sessions (id_hash, account_id, csrf_key, created_at, signed_in_at, authenticated_at, expires_at,
     identity_session_id)
   select ${hash('session')}, ${account}, ${hash('csrf')}, now() - interval '1 day', now(), now(), ${expiry('1 day')},
     md5('identity session' || n)::uuid
   from generate_series(1, 20000) n`,
  `insert into ended_identity_sessions (id, ended_at)
   select md5('ended session' || n)::uuid, ${expiry('1 day')} - interval '1 day' from generate_series(1, 20000) n`,
  `insert into oauth_authorizations (txn_hash, session_hash, client_id, redirect_uri, redirect_uri_sent, scope, code_challenge, created_at, expires_at)
   select ${hash('txn')}, ${hash('session')}, ${client}, 'http://127.0.0.1/', true, 'mcp:connect', repeat('x', 43),
     now() - interval '1 day', ${expiry('1 day')}
   from generate_series(1, 20000) n`,
  `insert into page_handovers (id, session_hash, key_id, ciphertext, expires_at)
   select md5('handover' || n)::uuid, ${hash('session')}, 'key', '\\x00', ${expiry('5 minutes')}
   from generate_series(1, 20000) n`,
  `insert into page_submissions (session_hash, key)
   select ${hash('session')}, ${hash('form')} from generate_series(1, 20000) n`,
  `insert into oauth_grants (id, account_id, client_id, scope, created_at, authenticated_at, revoked_at, revoke_reason)
   select ${grant}, ${account}, ${client}, 'mcp:connect', now() - interval '1 day', now(),
     case when n % 1000 = 0 then now() - interval '40 days' end, case when n % 1000 = 0 then 'x' end
   from generate_series(1, 20000) n`,
  `insert into oauth_codes (code_hash, grant_id, client_id, redirect_uri, redirect_uri_sent, code_challenge, created_at, expires_at, used_at)
   select ${hash('code')}, ${grant}, ${client}, 'http://127.0.0.1/', true, repeat('x', 43), now() - interval '1 day',
     ${expiry('1 hour')}, case when n % 1000 <> 0 then now() end
   from generate_series(1, 20000) n`,
  `insert into oauth_access_tokens (token_hash, grant_id, account_id, scope, created_at, expires_at)
   select ${hash('access')}, ${grant}, ${account}, 'mcp:connect', now() - interval '1 day', ${expiry('1 hour')}
   from generate_series(1, 20000) n`,
  `insert into oauth_refresh_tokens (token_hash, grant_id, scope, created_at, expires_at)
   select ${hash('refresh')}, ${grant}, 'mcp:connect', now() - interval '1 day', ${expiry('90 days')}
   from generate_series(1, 20000) n`,
  `insert into personal_tokens (account_id, name, token_hash, hint, created_at, authenticated_at, expires_at, last_used_at)
   select ${account}, 'x', ${hash('personal')}, 'x', now() - interval '100 days', now(), now() + interval '100 days',
     case when n % 1000 <> 0 then now() end
   from generate_series(1, 20000) n`,
  `insert into account_states (account_id, signed_out_at, deleted_at)
   select md5('state' || n)::uuid, now() - case when n % 1000 = 0 then interval '40 days' else interval '1 hour' end,
     case when n % 1000 = 1 then now() end
   from generate_series(1, 20000) n`,
  `insert into webhook_endpoints (account_id, url, url_href, secret_ciphertext, secret_key_id)
   select md5('account' || n)::uuid, 'https://example.com', 'https://example.com/', '\\x00', 'key' from generate_series(1, 20) n`,
  `insert into webhook_endpoint_warnings (endpoint_id, threshold, day, failures, last_error, failed_at, created_at, next_attempt_at, outcome)
   select e.id, 10, date '2020-01-01' + n, 10, 'http_500', now(),
     now() - case when n = 1 then interval '8 days' else interval '1 day' end, null, 'sent'
   from webhook_endpoints e, generate_series(1, 1000) n`,
  'vacuum analyze',
]

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Fills the tables, and returns the keys of the rows that belong to one of the live grants. */
export async function fillTables(db: Db) {
  for (const statement of FILL) await db.query(statement)
  const { rows } = await db.query<{ account_id: string; grant_id: string }>(
    `select md5('account7')::uuid as account_id, md5('grant7')::uuid as grant_id`,
  )
  const [row] = rows
  if (!row) throw new Error('no row')
  return {
    accountId: row.account_id,
    grantId: row.grant_id,
    clientId: 'svcl_00000008',
    session: digest('session7'),
    txn: digest('txn7'),
    code: digest('code7'),
    accessToken: digest('access7'),
    refreshToken: digest('refresh7'),
    personalToken: digest('personal7'),
  }
}
