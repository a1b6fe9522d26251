import { renderEnvExample, renderMarkdown } from '@signet/config'
import { createLogger } from '@signet/telemetry'
import { apiDocument } from './api-docs/api-document.js'
import { errorsPage } from './api-docs/errors-page.js'
import { providersPage } from './api-docs/providers-page.js'
import { authRoutes } from './app.js'
import { settings } from './config/config.js'
import { readConfig } from './config/read-config.js'
import { createContext } from './context.js'
import { RECOVERY_CODES } from './factors/recovery-codes.js'
import { DIGITS as TOTP_DIGITS } from './factors/totp.js'
import { CODES_OF_ADDRESS, CODES_OF_CLIENT } from './one-time-tokens/one-time-token-store.js'
import { MAX_LIVE } from './one-time-tokens/one-time-tokens.js'
import { providerLabels } from './providers/definitions/index.js'
import { MAX_BYTES as MAX_BODY_BYTES } from './requests/json-body.js'
import { MAX_OPEN_SESSIONS } from './sessions/session.js'
import { MAX_BYTES as MAX_METADATA_BYTES } from './users/storable-metadata.js'

/** The generated docs of this app by file name, from the same tables that the service uses. */
export async function generatedDocs(): Promise<Record<string, string>> {
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the identity server', settings, FIXED_LIMITS),
    'docs/errors.md': errorsPage(),
    'docs/providers.md': providersPage(),
    // Names of providers on pages and in emails.
    '../../packages/pages/src/provider-labels.json': json(providerLabels),
    'docs/openapi.json': json(await openApi()),
    '.env.example': renderEnvExample(settings),
  }
}

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`

const FIXED_LIMITS = [
  {
    of: 'open sessions of one user; a sign-in beyond them ends those used longest ago',
    limit: String(MAX_OPEN_SESSIONS),
  },
  {
    of: 'links and codes of one kind that different networks requested, and that are valid beside each other',
    limit: String(MAX_LIVE),
  },
  {
    of: 'codes of an address that a typed one is compared with, and those among them that one network requested',
    limit: `${CODES_OF_ADDRESS} and ${CODES_OF_CLIENT}`,
  },
  { of: 'digits of a code from an authenticator app', limit: String(TOTP_DIGITS) },
  { of: 'recovery codes of an account', limit: String(RECOVERY_CODES) },
  {
    of: '`user_metadata` and `app_metadata` of an account, together as JSON',
    limit: `${MAX_METADATA_BYTES / 1024} KiB`,
  },
  { of: 'JSON body of a request', limit: `${MAX_BODY_BYTES / 1024 / 1024} MiB` },
]

/** The routes as the service mounts them; opens no connection and listens on no port. */
async function openApi() {
  const context = await createContext(readConfig(EXAMPLE_ENVIRONMENT), {
    log: createLogger({ level: 'panic', component: 'docs' }),
  })
  try {
    return apiDocument(authRoutes(context), PLACEHOLDER)
  } finally {
    await context.close()
  }
}

/** The address of the service in the generated document. The document that a server serves has the real address. */
const PLACEHOLDER = 'https://auth.signet.example'

const EXAMPLE_ENVIRONMENT = {
  AUTH_SITE_URL: 'https://app.example.com',
  AUTH_API_EXTERNAL_URL: PLACEHOLDER,
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  AUTH_JWT_SECRET: 'only for rendering the table of routes',
  AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
}
