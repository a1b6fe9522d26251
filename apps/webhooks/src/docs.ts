import { readFileSync } from 'node:fs'
import { renderMarkdown } from '@signet/config'
import { createLogger, createRegistry } from '@signet/telemetry'
import { DEFAULT_RETRY_DELAYS_SECONDS } from '@signet/webhook-core'
import { internalApiDocument, publicApiDocument } from './api-docs/api-document.js'
import { errorsPage } from './api-docs/errors-page.js'
import { settings } from './config/config.js'
import { createContext } from './context.js'
import { readConfig } from './config/read-config.js'
import { internalRoutes, publicRoutes } from './routes.js'

/** The documents of this app by file, made from the tables that the service runs. */
export async function generatedDocs(): Promise<Record<string, string>> {
  const { publicTable, internalTable } = await routeTables()
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the webhooks service', settings),
    'docs/errors.md': errorsPage(),
    'docs/specification.md': withRetryDelays(readFileSync(SPECIFICATION, 'utf8')),
    'docs/openapi.json': json(publicApiDocument(publicTable)),
    'docs/openapi-internal.json': json(internalApiDocument(internalTable)),
  }
}

const SPECIFICATION = new URL('../docs/specification.md', import.meta.url)

/** The specification is written by hand, except for the numbers of its sentence on retries. */
function withRetryDelays(text: string): string {
  const minutes = DEFAULT_RETRY_DELAYS_SECONDS.map((seconds) => seconds / 60)
  const delays = `${minutes.slice(0, -1).join(', ')} and ${minutes.at(-1)} minutes`
  const sentence = /\d+ retries, after about [\d., ]+ and [\d.]+ minutes/
  if (!sentence.test(text)) throw new Error('The specification says nothing about the delays of retries')
  return text.replace(sentence, `${minutes.length} retries, after about ${delays}`)
}

/** The routes as the service mounts them, every optional one included; nothing is connected or listened on. */
async function routeTables() {
  const ctx = createContext(readConfig(EXAMPLE_ENVIRONMENT), {
    log: createLogger({ level: 'panic', component: 'docs' }),
    registry: createRegistry({ runtime: false }),
  })
  const { insertedDiscovery: _, ...families } = publicRoutes(ctx)
  const tables = { publicTable: Object.values(families).flat(), internalTable: internalRoutes(ctx) }
  await ctx.close()
  return tables
}

const EXAMPLE_ENVIRONMENT = {
  NODE_ENV: 'test',
  WEBHOOKS_BASE_URL: 'https://hooks.example.com',
  WEBHOOKS_DATABASE_URL: 'postgres://127.0.0.1:1/none',
  WEBHOOKS_REDIS_URL: 'redis://127.0.0.1:1',
  WEBHOOKS_IDENTITY_URL: 'https://identity.example.com',
  WEBHOOKS_IDENTITY_JWT_SECRET: 'only for drawing the table of routes',
  WEBHOOKS_SECRET_KEYS: `docs:${Buffer.from('only for drawing the route table').toString('base64')}`,
  WEBHOOKS_INTERNAL_TOKENS: `docs:${'0'.repeat(64)}`,
  WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS: 'svcl_docs',
}

const json = (document: object): string => `${JSON.stringify(document, null, 2)}\n`
