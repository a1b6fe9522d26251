import { createHmac } from 'node:crypto'
import type { Db } from '@signet/db'
import { newCredential, sha256 } from '../../src/credentials/credential.js'
import { personalToken } from '../../src/credentials/personal-token.js'
import { JWT_SECRET } from './identity-double.js'

/** An access token as the OAuth server would have issued it. */
export async function aToken(db: Db, accountId: string, { scope = 'mcp:connect', expired = false } = {}) {
  const token = newCredential('accessToken')
  await db.query(
    `with granted as (
       insert into oauth_grants (account_id, client_id, scope, authenticated_at)
       values ($1, 'svcl_cli', $2, now()) returning id)
     insert into oauth_access_tokens (token_hash, grant_id, account_id, scope, created_at, expires_at)
     select $3, id, $1, $2, now() - interval '2 hours', now() + $4::interval from granted`,
    [accountId, scope, sha256(token), expired ? '-1 minute' : '1 hour'],
  )
  return token
}

/** A personal token like those that the command-line tool creates. */
export async function aPersonalToken(db: Db, accountId: string): Promise<string> {
  const token = personalToken()
  await db.query(
    `insert into personal_tokens (account_id, name, token_hash, hint, expires_at, authenticated_at)
     values ($1, 'cli', $2, 'svp_…abcd', now() + interval '1 day', now())`,
    [accountId, sha256(token)],
  )
  return token
}

/** A JWT like those that users get when they sign in at the identity server. */
export function userJwt(accountId: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const seconds = Math.floor(Date.now() / 1000)
  const claims = {
    sub: accountId,
    aud: 'authenticated',
    role: 'authenticated',
    iat: seconds,
    exp: seconds + 600,
  }
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`
}
