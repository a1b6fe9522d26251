import { type Db } from '@signet/db'
import { newCredential, sha256 } from '../../src/credentials/credential.js'

/** An access token as the OAuth server would have issued it. */
export async function aToken(db: Db, accountId: string, { scope = 'mcp:connect', expired = false } = {}) {
  const token = newCredential('accessToken')
  await db.query(
    `with granted as (
       insert into oauth_grants (account_id, client_id, scope) values ($1, 'svcl_cli', $2) returning id)
     insert into oauth_access_tokens (token_hash, grant_id, account_id, scope, created_at, expires_at)
     select $3, id, $1, $2, now() - interval '2 hours', now() + $4::interval from granted`,
    [accountId, scope, sha256(token), expired ? '-1 minute' : '1 hour'],
  )
  return token
}
