import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  boolean,
  choice,
  httpUrl,
  hostName,
  integer,
  list,
  nodeEnvironment,
  parsed,
  text,
} from '@signet/config'
import { parseDatabaseUrl } from '@signet/db'
import { span, timer } from './durations.js'
import { logLevels } from '@signet/telemetry'
import { parseSigningKey } from '@signet/standard-webhooks'

type LogFileOptions = { env: string; optional: true; doc: string }
type SecretOptions = LogFileOptions & { secret: true }

/** The process, its database and what it logs (docs/specification.md#configuration). */
export const serverSettings = {
  nodeEnv: nodeEnvironment('`production` refuses the development secrets in the repository.'),
  siteUrl: httpUrl({
    env: 'AUTH_SITE_URL',
    doc: 'Base URL of the site this server signs people in to; the default redirect target.',
  }),
  apiExternalUrl: httpUrl({
    env: ['AUTH_API_EXTERNAL_URL', 'API_EXTERNAL_URL'],
    doc: 'Public URL of this server, used in emails and callbacks.',
  }),
  apiHost: hostName({
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
  apiMaxRequestDuration: timer({
    env: 'AUTH_API_MAX_REQUEST_DURATION',
    fallback: 10_000,
    minMs: 1,
    doc: 'Time for one request; after it, the response is 504 `request_timeout`, or 408 if the body has not arrived.',
  }),
  apiDrainDuration: timer({
    env: 'AUTH_API_DRAIN_DURATION',
    fallback: 5000,
    maxMs: 300_000,
    doc: 'How long to keep serving after SIGTERM while `/readyz` fails, so that load balancers stop sending requests first.',
  }),
  requestIdHeader: text({
    env: ['AUTH_REQUEST_ID_HEADER', 'REQUEST_ID_HEADER'],
    optional: true,
    doc: 'Take the request id from this header instead of generating one.',
  }),
  corsAllowedHeaders: list({
    env: 'AUTH_CORS_ALLOWED_HEADERS',
    fallback: [],
    doc: 'Request headers that browsers may send besides the built-in ones.',
  }),
  dbDriver: choice({ env: 'AUTH_DB_DRIVER', choices: ['postgres'], doc: 'Must be `postgres`.' }),
  databaseUrl: parsed<string, { env: readonly string[]; secret: true; doc: string }>({
    env: ['AUTH_DB_DATABASE_URL', 'DATABASE_URL'],
    secret: true,
    kind: 'text',
    parse: parseDatabaseUrl,
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
    doc: 'Maximum number of database connections. 0 sets no fixed limit: ten, plus one for each connection that has been in use for more than 50 ms while others wait, up to what PostgreSQL allows. One extra connection shows other servers that this one is alive.',
  }),
  outboxPollInterval: timer({
    env: 'AUTH_OUTBOX_POLL_INTERVAL',
    fallback: 1000,
    minMs: 10,
    doc: 'How often the server checks for messages due for a retry, or left by a server that died. Other services are notified then of deletions, lifted bans, and sessions that ended because an old token was used.',
  }),
  apiAccountRequestExp: span({
    env: 'AUTH_API_ACCOUNT_REQUEST_EXP',
    fallback: 600_000,
    minMs: 1000,
    doc: 'How long the server retries a request for a link or code, which it answers before looking up an account.',
  }),
  outboxConcurrency: integer({
    env: 'AUTH_OUTBOX_CONCURRENCY',
    fallback: 10,
    min: 1,
    max: 1000,
    doc: 'Messages of one kind (emails, SMS, events) that a server sends concurrently.',
  }),
  outboxAttemptTimeout: timer({
    env: 'AUTH_OUTBOX_ATTEMPT_TIMEOUT',
    fallback: 30_000,
    minMs: 100,
    doc: 'Time for one attempt to send a message; a mail server may take all of it to answer. If it does not answer, the email is sent again after at least a minute. Messages claimed by a server that died are sent within seconds; those of one that hangs or is cut off, a few seconds after this time.',
  }),
  // A trigger writes what is sent there, so no code path can forget it (decision 0140).
  eventsUrl: httpUrl({
    env: 'AUTH_EVENTS_URL',
    optional: true,
    fallbackDoc: 'no notifications',
    doc: 'Where to POST bans, their ends, sign-outs and deletions, e.g. `http://webhooks:8083/internal/v1/account-events`.',
  }),
  eventsSecret: parsed<Buffer, SecretOptions>({
    env: 'AUTH_EVENTS_SECRET',
    kind: '`whsec_` and the base64 of 24 to 64 bytes',
    secret: true,
    optional: true,
    doc: 'Secret that signs the events sent to AUTH_EVENTS_URL (Standard Webhooks). The receiver needs the same one.',
    parse: parseSigningKey,
  }),
  dbCleanupEnabled: boolean({
    env: 'AUTH_DB_CLEANUP_ENABLED',
    fallback: true,
    doc: 'Delete rows that are no longer needed (revoked tokens, ended sessions, old flows) in the background.',
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
  auditLogRetention: span({
    env: 'AUTH_AUDIT_LOG_RETENTION',
    optional: true,
    minMs: 1000,
    fallbackDoc: 'forever',
    doc: 'How long the clean-up keeps entries of the audit log in the database.',
  }),
  unconfirmedUserRetention: span({
    env: 'AUTH_UNCONFIRMED_USER_RETENTION',
    optional: true,
    minMs: 1000,
    fallbackDoc: 'forever',
    doc: 'How long the clean-up keeps users who never confirmed an address, since the last confirmation sent to them.',
  }),
  logLevel: choice({
    env: ['AUTH_LOG_LEVEL', 'LOG_LEVEL'],
    choices: logLevels,
    fallback: 'info',
    doc: 'Lowest level that is logged.',
  }),
  logFile: parsed<string, LogFileOptions>({
    env: 'AUTH_LOG_FILE',
    kind: 'text',
    optional: true,
    doc: 'Write logs to this file instead of stdout.',
    parse: parseLogFile,
  }),
}

/** Fail at start-up rather than run without a log. */
function parseLogFile(path: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true })
    closeSync(openSync(path, 'a'))
  } catch {
    throw new Error('must be a file that can be written')
  }
  return path
}
