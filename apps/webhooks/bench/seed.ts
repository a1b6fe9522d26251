import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { migrate, type Db } from '@signet/db'

const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))
const REDIRECT = 'http://127.0.0.1/callback'

export const CLIENT_ID = 'svcl_bench'
/** The PKCE pair of RFC 7636 appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** Credentials that contain a number, so that the load can name any of a million without storing them. */
export const numbered = (prefix: string, number: number): string => prefix + String(number).padStart(43, '0')
const digestOf = (prefix: string) => `sha256(convert_to('${prefix}' || lpad(n::text, 43, '0'), 'UTF8'))`

/** Creates a database, or replaces it if it exists, migrates it, and returns its URL. */
export async function prepareDatabase(admin: Db, url: string, name: string): Promise<string> {
  await admin.query(`drop database if exists ${name}`)
  await admin.query(`create database ${name}`)
  const target = new URL(url)
  target.pathname = `/${name}`
  await migrate({ databaseUrl: target.href, directory: MIGRATIONS, table: 'migrations' })
  return target.href
}

export async function seedClient(db: Db): Promise<void> {
  await db.query(
    `insert into oauth_clients (client_id, auth_method, redirect_uris, grant_types, response_types, scope, client_name)
     values ($1, 'none', array[$2], array['authorization_code', 'refresh_token'], array['code'], 'mcp:connect', 'Bench')`,
    [CLIENT_ID, REDIRECT],
  )
}

/** Inserts `count` live access tokens, each with its own grant and account. */
export async function seedAccessTokens(db: Db, count: number): Promise<void> {
  await db.query(
    `with g as (
       insert into oauth_grants (id, account_id, client_id, scope, authenticated_at)
       select md5(n::text)::uuid, md5('account' || n)::uuid, $1, 'mcp:connect', now() from generate_series(0, $2 - 1) n
     )
     insert into oauth_access_tokens (token_hash, grant_id, account_id, scope, expires_at)
     select ${digestOf('sva_')}, md5(n::text)::uuid, md5('account' || n)::uuid, 'mcp:connect', now() + interval '1 day'
       from generate_series(0, $2 - 1) n`,
    [CLIENT_ID, count],
  )
  await db.query('vacuum analyze')
}

/** Inserts unused codes `from` to `to`, each with its own grant. */
export async function seedCodes(db: Db, from: number, to: number): Promise<void> {
  await db.query(
    `with g as (
       insert into oauth_grants (id, account_id, client_id, scope, authenticated_at)
       select md5('code' || n)::uuid, $2::uuid, $1, 'mcp:connect', now() from generate_series($3::integer, $4::integer) n
     )
     insert into oauth_codes (code_hash, grant_id, client_id, redirect_uri, redirect_uri_sent, code_challenge, expires_at)
     select ${digestOf('svc_')}, md5('code' || n)::uuid, $1, $5, true, $6, now() + interval '1 day'
       from generate_series($3::integer, $4::integer) n`,
    [CLIENT_ID, randomUUID(), from, to, REDIRECT, CHALLENGE],
  )
}

/** Inserts refresh tokens 0 to `count - 1`, all of one grant. */
export async function seedRefreshTokens(db: Db, count: number): Promise<void> {
  await db.query(
    `with g as (
       insert into oauth_grants (account_id, client_id, scope, authenticated_at)
       values (gen_random_uuid(), $1, 'mcp:connect', now()) returning id
     )
     insert into oauth_refresh_tokens (token_hash, grant_id, scope, expires_at)
     select ${digestOf('svr_')}, g.id, 'mcp:connect', now() + interval '90 days'
       from g, generate_series(0, $2 - 1) n`,
    [CLIENT_ID, count],
  )
}

/** The body of a token request with code number `n`. */
export const codeForm = (n: number): string =>
  new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    code: numbered('svc_', n),
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
  }).toString()

export const refreshForm = (token: string): string =>
  new URLSearchParams({ grant_type: 'refresh_token', client_id: CLIENT_ID, refresh_token: token }).toString()
