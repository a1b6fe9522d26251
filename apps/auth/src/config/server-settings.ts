import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { boolean, choice, duration, httpUrl, integer, list, parsed, text } from '@signet/config'
import { logLevels } from '@signet/telemetry'

type LogFileOptions = { env: string; optional: true; doc: string }

/** The process, its database and what it logs (contract section 11). */
export const serverSettings = {
  nodeEnv: text({
    env: 'NODE_ENV',
    fallback: 'development',
    doc: '`production` refuses the secrets that stand in the repository for development.',
  }),
  siteUrl: httpUrl({
    env: 'AUTH_SITE_URL',
    doc: 'Base URL of the site this server signs people in to; the default redirect target.',
  }),
  apiExternalUrl: httpUrl({
    env: ['AUTH_API_EXTERNAL_URL', 'API_EXTERNAL_URL'],
    doc: 'Public URL of this server, as mails and callbacks name it.',
  }),
  apiHost: text({
    env: 'AUTH_API_HOST',
    optional: true,
    fallbackDoc: 'all interfaces',
    doc: 'Address to listen on.',
  }),
  apiPort: integer({
    env: ['AUTH_API_PORT', 'PORT'],
    fallback: 8081,
    max: 65535,
    doc: 'Port to listen on; 0 picks a free one.',
  }),
  apiMaxRequestDuration: duration({
    env: 'AUTH_API_MAX_REQUEST_DURATION',
    fallback: 10_000,
    minMs: 1,
    doc: 'Time for one request; past it the answer is 504 `request_timeout`.',
  }),
  requestIdHeader: text({
    env: ['AUTH_REQUEST_ID_HEADER', 'REQUEST_ID_HEADER'],
    optional: true,
    doc: 'Inherit the request id from this header instead of making one.',
  }),
  corsAllowedHeaders: list({
    env: 'AUTH_CORS_ALLOWED_HEADERS',
    fallback: [],
    doc: 'Request headers that browsers may send besides the built-in ones.',
  }),
  dbDriver: choice({ env: 'AUTH_DB_DRIVER', choices: ['postgres'], doc: 'Must be `postgres`.' }),
  databaseUrl: text({
    env: ['AUTH_DB_DATABASE_URL', 'DATABASE_URL'],
    secret: true,
    pattern: /^postgres(ql)?:\/\/\S*$/i,
    expected: 'a URL such as postgres://user:password@host:5432/database',
    doc: 'PostgreSQL connection string.',
  }),
  dbNamespace: text({
    env: ['AUTH_DB_NAMESPACE', 'DB_NAMESPACE'],
    fallback: '',
    pattern: /^[A-Za-z_][A-Za-z0-9_]{0,30}$/,
    expected: 'a letter or underscore and up to 30 letters, digits and underscores',
    doc: 'Prefix of all table names: `ns` makes `ns_users`.',
  }),
  dbMaxPoolSize: integer({
    env: 'AUTH_DB_MAX_POOL_SIZE',
    fallback: 0,
    doc: 'Database connections at most; 0 is unlimited, so that the limit of the PostgreSQL server decides.',
  }),
  dbCleanupEnabled: boolean({
    env: 'AUTH_DB_CLEANUP_ENABLED',
    fallback: true,
    doc: 'Delete rows that nothing needs any more (revoked tokens, ended sessions, old flows) in the background.',
  }),
  dbCleanupAnonymousUsers: boolean({
    env: 'AUTH_DB_CLEANUP_ANONYMOUS_USERS',
    fallback: true,
    doc: 'Let the clean-up delete anonymous users 30 days after they signed up, while anonymous sign-in is enabled.',
  }),
  auditLogDisablePostgres: boolean({
    env: 'AUTH_AUDIT_LOG_DISABLE_POSTGRES',
    fallback: false,
    doc: 'Write the audit log to the process log only, not to the database.',
  }),
  logLevel: choice({
    env: ['AUTH_LOG_LEVEL', 'LOG_LEVEL'],
    choices: logLevels,
    fallback: 'info',
    doc: 'Least severe level that is logged.',
  }),
  logFile: parsed<string, LogFileOptions>({
    env: 'AUTH_LOG_FILE',
    kind: 'text',
    optional: true,
    doc: 'Write logs to this file instead of stdout.',
    parse: parseLogFile,
  }),
}

/** A server whose log goes nowhere would run blindly, so it is tried once. */
function parseLogFile(path: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true })
    closeSync(openSync(path, 'a'))
  } catch {
    throw new Error('must be a file that can be written')
  }
  return path
}
