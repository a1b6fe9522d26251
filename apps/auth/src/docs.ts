import { renderEnvExample, renderMarkdown } from '@signet/config'
import { createLogger } from '@signet/telemetry'
import { apiDocument } from './api-docs/api-document.js'
import { errorsPage } from './api-docs/errors-page.js'
import { providersPage } from './api-docs/providers-page.js'
import { authRoutes } from './app.js'
import { loadAuthConfig, settings } from './config/config.js'
import { createContext } from './context.js'

/** The generated docs of this app by file name, from the same tables that the service uses. */
export async function generatedDocs(): Promise<Record<string, string>> {
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the identity server', settings),
    'docs/errors.md': errorsPage(),
    'docs/providers.md': providersPage(),
    'docs/openapi.json': `${JSON.stringify(await openApi(), null, 2)}\n`,
    '.env.example': renderEnvExample(settings),
  }
}

/** The routes as the service mounts them; opens no connection and listens on no port. */
async function openApi() {
  const context = await createContext(loadAuthConfig(EXAMPLE_ENVIRONMENT), {
    log: createLogger({ level: 'panic', component: 'docs' }),
  })
  try {
    return apiDocument(authRoutes(context), PLACEHOLDER)
  } finally {
    await context.close()
  }
}

/** Where the generated document says that the service is; the served one has the real address. */
const PLACEHOLDER = 'https://auth.signet.example'

const EXAMPLE_ENVIRONMENT = {
  AUTH_SITE_URL: 'https://app.example.com',
  AUTH_API_EXTERNAL_URL: PLACEHOLDER,
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  AUTH_JWT_SECRET: 'only for rendering the table of routes',
  AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
}
