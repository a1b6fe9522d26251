import { Db } from '@signet/db'
import { hs256Token } from '@signet/testkit'
import { createPasswordHasher } from '../src/passwords/password-hasher.js'
import { migrateDatabase } from '../src/migrations.js'
import { deriveKeys } from '../src/secrets/derived-keys.js'
import { RefreshTokens } from '../src/sessions/refresh-token.js'
import { JWT_SECRET } from './servers.js'

export const PASSWORD = 'correct horse battery'

/** The n-th of everything, so that no list has to be kept: the SQL below makes the same. */
export const emailOf = (n: number): string => `user${n}@example.com`
const uuidOf = (kind: number, n: number): string =>
  `0000000${kind}-0000-4000-8000-${String(n).padStart(12, '0')}`

const SALT = Buffer.alloc(32, 1)
const refreshTokens = new RefreshTokens(deriveKeys(JWT_SECRET).refreshTokens)
export const userIdOf = (n: number): string => uuidOf(1, n)
export const sessionIdOf = (n: number): string => uuidOf(2, n)
export const refreshTokenOf = (n: number): string => refreshTokens.of(uuidOf(2, n), 0, SALT)

export const accessTokenOf = (n: number): string => {
  const now = Math.floor(Date.now() / 1000)
  return hs256Token(JWT_SECRET, {
    sub: uuidOf(1, n),
    session_id: uuidOf(2, n),
    aud: 'authenticated',
    role: 'authenticated',
    iat: now,
    exp: now + 86_400,
  })
}

export const adminToken = (): string => hs256Token(JWT_SECRET, { role: 'service_role' })

/** A database with `users` users, each with an identity, a session and an active refresh token. */
export async function seedDatabase(adminUrl: string, name: string, users: number): Promise<string> {
  const admin = new Db({ connectionString: adminUrl, max: 1 })
  await admin.query(`create database ${name}`)
  await admin.close()
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  await migrateDatabase({ databaseUrl: url.href, dbNamespace: '' })
  const db = new Db({ connectionString: url.href, max: 1 })
  const hasher = createPasswordHasher({ threads: 1 })
  const hash = await hasher.hash(PASSWORD)
  await hasher.close()
  process.stderr.write(`seeding ${users} users …\n`)
  // Only the seeding may lose its last moments in a crash.
  await db.query('set synchronous_commit = off')
  const uuid = (kind: number) => `('0000000${kind}-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid`
  const at = `now() - (n || ' milliseconds')::interval`
  for (const statement of [
    `insert into users (id, aud, role, email, encrypted_password, email_confirmed_at, app_metadata, user_metadata,
       created_at, updated_at)
     select ${uuid(1)}, 'authenticated', 'authenticated', 'user' || n || '@example.com', '${hash}', ${at},
       '{"provider":"email","providers":["email"]}', '{"email_verified":true}', ${at}, ${at} from generate_series(1, ${users}) n`,
    `insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
     select ${uuid(3)}, ${uuid(1)}, 'email', ${uuid(1)}, json_build_object('sub', ${uuid(1)}, 'email', 'user' || n || '@example.com'),
       ${at}, ${at} from generate_series(1, ${users}) n`,
    `insert into sessions (id, user_id, aal, created_at, updated_at, refresh_salt, amr)
     select ${uuid(2)}, ${uuid(1)}, 'aal1', ${at}, ${at}, '\\x${SALT.toString('hex')}',
       jsonb_build_array(jsonb_build_object('method', 'password', 'at', ${at})) from generate_series(1, ${users}) n`,
    'vacuum analyze',
    'checkpoint',
  ])
    await db.query(statement)
  await db.close()
  return url.href
}
