import { readFileSync } from 'node:fs'
import { renderMarkdown } from '@signet/config'
import { createLogger, createRegistry } from '@signet/telemetry'
import { DEFAULT_RETRY_DELAYS_SECONDS, PAYLOAD_TARGET_BYTES } from '@signet/webhook-core'
import { internalApiDocument, publicApiDocument, publicComponents } from './api-docs/api-document.js'
import { errorsPage } from './api-docs/errors-page.js'
import { eventData } from './api-docs/event-data.js'
import { retryDelays } from './api-docs/retry-delays.js'
import { settings } from './config/config.js'
import { MAX_PAGE_SIZE } from './api/query.js'
import { MAX_BODY_BYTES as MAX_V1_BYTES } from './api/v1-pipeline.js'
import { MAX_ENDPOINTS_PER_ACCOUNT } from './endpoints/endpoint-service.js'
import { ACCESS_SECONDS, REFRESH_SECONDS } from './grants/token-service.js'
import { MAX_BODY_BYTES as MAX_INGEST_BYTES } from './ingest/body-sizes.js'
import { MAX_LINES } from './ingest/json-lines.js'
import { MAX_OPEN_RESULTS, MAX_OPEN_SAMPLES } from './limits/limits.js'
import { MAX_BODY_BYTES as MAX_MCP_BYTES } from './mcp/mcp-routes.js'
import { toolsOf, type Tool } from './mcp/tool.js'
import { MAX_MATCHED } from './recoveries/recovery-service.js'
import { MAX_USABLE_TOKENS } from './personal-tokens/personal-token-service.js'
import { createContext } from './context.js'
import { readConfig } from './config/read-config.js'
import { internalRoutes, publicRoutes } from './routes.js'

/** The documents of this app by file, generated from the tables that the service runs. */
export async function generatedDocs(): Promise<Record<string, string>> {
  const { publicTable, internalTable, tools } = await routeTables()
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the webhooks service', settings, FIXED_LIMITS),
    'docs/errors.md': errorsPage(),
    'docs/mcp.md': withTools(readFileSync(MCP_PAGE, 'utf8'), tools),
    'docs/specification.md': withRetryDelays(readFileSync(SPECIFICATION, 'utf8')),
    '../../packages/webhook-verify/src/event-data.ts': eventData(),
    'docs/openapi.json': json(publicApiDocument(publicTable, PLACEHOLDER)),
    'docs/openapi-internal.json': json(
      internalApiDocument(internalTable, 'https://hooks-internal.signet.example'),
    ),
  }
}

const kibibytes = (bytes: number) => `${bytes / 1024} KiB`
const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`

const FIXED_LIMITS = [
  { of: 'webhooks of an account', limit: String(MAX_ENDPOINTS_PER_ACCOUNT) },
  { of: 'usable personal tokens of an account', limit: String(MAX_USABLE_TOKENS) },
  { of: 'lifetime of an OAuth access token', limit: `${ACCESS_SECONDS / 3600} h` },
  { of: 'lifetime of an OAuth refresh token', limit: `${REFRESH_SECONDS / 86_400} days` },
  { of: 'deliveries of one recovery', limit: MAX_MATCHED.toLocaleString('en') },
  {
    of: 'lists of samples that an account reads at the same time, in each process',
    limit: String(MAX_OPEN_SAMPLES),
  },
  {
    of: 'results of MCP tools over 64 Ki characters that an account reads at the same time, in each process',
    limit: String(MAX_OPEN_RESULTS),
  },
  { of: 'rows of a page of a list', limit: String(MAX_PAGE_SIZE) },
  { of: 'body of a request to `/v1`', limit: kibibytes(MAX_V1_BYTES) },
  { of: 'body of a message to `/mcp`', limit: kibibytes(MAX_MCP_BYTES) },
  { of: 'event, beyond which its transcript is shortened', limit: mebibytes(PAYLOAD_TARGET_BYTES) },
  { of: 'body of an ingest request, one notice or a batch', limit: mebibytes(MAX_INGEST_BYTES) },
  { of: 'lines of a batch', limit: MAX_LINES.toLocaleString('en') },
]

const SPECIFICATION = new URL('../docs/specification.md', import.meta.url)

/** The specification is written by hand, except for the numbers in its sentence about retries. */
function withRetryDelays(text: string): string {
  const count = DEFAULT_RETRY_DELAYS_SECONDS.length
  const sentence = /Up to \d+ retr(y|ies), after about [^.]+\./
  if (!sentence.test(text)) throw new Error('The specification says nothing about the delays of retries')
  return text.replace(
    sentence,
    `Up to ${count} ${count === 1 ? 'retry' : 'retries'}, after about ${retryDelays(DEFAULT_RETRY_DELAYS_SECONDS)}.`,
  )
}

const MCP_PAGE = new URL('../docs/mcp.md', import.meta.url)

/** The page is written by hand, except for its list of tools. */
function withTools(text: string, tools: ReadonlyMap<string, Tool>): string {
  const [begin, end] = ['<!-- tools: written by npm run docs -->\n', '\n<!-- /tools -->']
  const [before, after] = [text.indexOf(begin), text.indexOf(end)]
  if (before < 0 || after < before) throw new Error('The page of the MCP server has no place for its tools')
  const list = [...tools.values()].map(({ definition }) => toolLine(definition)).join('\n')
  return `${text.slice(0, before)}${begin}\n${list}\n${text.slice(after)}`
}

function toolLine({ name, title = '', inputSchema, annotations = {} }: Tool['definition']): string {
  const { properties = {}, required = [] } = inputSchema
  const given = Object.keys(properties).map((key) => `\`${key}${required.includes(key) ? '' : '?'}\``)
  const kind = annotations.readOnlyHint ? 'reads' : annotations.destructiveHint ? 'destructive' : 'changes'
  return `- \`${name}\`${given.length > 0 ? ` ${given.join(', ')}` : ''}: ${title} (${kind})`
}

/** The routes as the service mounts them, including all optional ones. Connects to nothing and does not listen. */
async function routeTables() {
  const ctx = createContext(readConfig(EXAMPLE_ENVIRONMENT), {
    log: createLogger({ level: 'panic', component: 'docs' }),
    registry: createRegistry({ runtime: false }),
  })
  const { undocumented: _, ...families } = publicRoutes(ctx)
  const tables = {
    publicTable: Object.values(families).flat(),
    internalTable: internalRoutes(ctx),
    tools: toolsOf(families.v1, publicComponents),
  }
  await ctx.close()
  return tables
}

/** The service's address in generated documents. Served documents have the real one. */
const PLACEHOLDER = 'https://hooks.signet.example'

const EXAMPLE_ENVIRONMENT = {
  NODE_ENV: 'test',
  WEBHOOKS_BASE_URL: PLACEHOLDER,
  WEBHOOKS_DATABASE_URL: 'postgres://127.0.0.1:1/none',
  WEBHOOKS_REDIS_URL: 'redis://127.0.0.1:1',
  WEBHOOKS_IDENTITY_URL: 'https://identity.example.com',
  WEBHOOKS_IDENTITY_JWT_SECRET: 'only for drawing the table of routes',
  WEBHOOKS_SECRET_KEYS: `docs:${Buffer.from('only for drawing the route table').toString('base64')}`,
  WEBHOOKS_INTERNAL_TOKENS: `docs:${'0'.repeat(64)}`,
  WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS: 'svcl_docs',
}

const json = (document: object): string => `${JSON.stringify(document, null, 2)}\n`
