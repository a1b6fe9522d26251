import { createHash, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from '@jest/globals'
import { migrate, type Db } from '@signet/db'
import { createLogger, createRegistry } from '@signet/telemetry'
import { createTestDatabase, migrationsKey, testRedis, type TestDatabase } from '@signet/testkit'
import { type Resolver } from '@signet/webhook-core'
import { internalApiDocument, publicApiDocument } from '../src/api-docs/api-document.js'
import { newCredential, sha256 } from '../src/credentials/credential.js'
import { readConfig } from '../src/read-config.js'
import { internalRoutes, publicRoutes } from '../src/routes.js'
import { startService, type WebhooksService } from '../src/service.js'
import { documentChecker } from './v1-document.js'

const directory = fileURLToPath(new URL('../migrations', import.meta.url))
export const SERVICE_TOKEN = 'service-token-of-the-pipeline-0123456789'
export const SECOND_TOKEN = 'service-token-after-its-rotation-0123456789'

type Line = Record<string, unknown>
export type Reply = { status: number; headers: Headers; text: string; body: never }
type Call = {
  token?: string | null
  body?: unknown
  headers?: Record<string, string>
  raw?: string | Uint8Array | ReadableStream
}

/** Every name is a public host, so that subscriptions can be made without a network. */
const publicResolver: Resolver = () => Promise.resolve([{ address: '93.184.215.14', family: 4 }])

export type ApiOptions = {
  env?: () => Record<string, string>
  /** An empty database instead of a copy of the template. */
  databaseUrl?: () => Promise<string>
  resolver?: Resolver
}

/** The whole service on free ports, with a database of its own. Usable from the first `beforeAll` on. */
export function useApi(options: ApiOptions = {}) {
  let database: TestDatabase | undefined
  let service: WebhooksService | undefined
  let fitsPublicDocument: ReturnType<typeof documentChecker> | undefined
  let fitsInternalDocument: ReturnType<typeof documentChecker> | undefined
  const lines: Line[] = []
  const copied = async () => {
    database = await createTestDatabase({
      key: migrationsKey('webhooks', directory),
      migrate: async (url) => void (await migrated(url)),
    })
    return database.url
  }
  beforeAll(async () => {
    const url = options.databaseUrl ? await migrated(await options.databaseUrl()) : await copied()
    service = await startService(configFor(url, options.env?.()), {
      log: createLogger({
        level: 'debug',
        component: 'webhooks',
        sink: (line) => lines.push(JSON.parse(line) as Line),
      }),
      registry: createRegistry({ runtime: false }),
      resolver: options.resolver ?? publicResolver,
    })
    const { insertedDiscovery: _, ...families } = publicRoutes(service.ctx)
    fitsPublicDocument = documentChecker(publicApiDocument(Object.values(families).flat()))
    fitsInternalDocument = documentChecker(internalApiDocument(internalRoutes(service.ctx)))
  })
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await service?.close()
  }
  afterAll(async () => {
    await close()
    await database?.drop()
  })
  const running = () => {
    if (service === undefined) throw new Error('the service is there from beforeAll on')
    return service
  }
  return {
    /** What the service logged so far. */
    lines,
    get db(): Db {
      return running().ctx.db
    },
    get service(): WebhooksService {
      return running()
    },
    /** Stops the service before the tests of the file end. */
    close,
    get url() {
      return `http://127.0.0.1:${running().port}`
    },
    get internalUrl() {
      return `http://127.0.0.1:${running().internalPort}`
    },
    /** A call of the public API. Its answer must be one that the document promises. */
    async call(method: string, path: string, call: Call = {}) {
      const reply = await send(`http://127.0.0.1:${running().port}${path}`, method, call)
      fitsPublicDocument?.(method, path, reply.status, reply.body)
      return reply
    },
    /** A call of the internal API, with a service token unless `token` says otherwise. */
    async internal(method: string, path: string, call: Call = {}) {
      const url = `http://127.0.0.1:${running().internalPort}${path}`
      const reply = await send(url, method, { token: SERVICE_TOKEN, ...call })
      fitsInternalDocument?.(method, path, reply.status, reply.body)
      return reply
    },
    /** A fresh account with an access token of scope `mcp:connect`. */
    async anAccount(): Promise<{ accountId: string; token: string }> {
      const accountId = randomUUID()
      return { accountId, token: await aToken(running().ctx.db, accountId) }
    },
  }
}
export type Api = ReturnType<typeof useApi>

async function migrated(databaseUrl: string): Promise<string> {
  await migrate({ databaseUrl, directory, table: 'migrations' })
  return databaseUrl
}

function configFor(databaseUrl: string, env: Record<string, string> = {}) {
  const redis = testRedis()
  const digest = (token: string) => createHash('sha256').update(token).digest('hex')
  return readConfig({
    NODE_ENV: 'test',
    WEBHOOKS_BASE_URL: 'https://hooks.signet.example',
    WEBHOOKS_DATABASE_URL: databaseUrl,
    WEBHOOKS_DATABASE_POOL_SIZE: '20',
    WEBHOOKS_REDIS_URL: redis.url,
    WEBHOOKS_QUEUE_PREFIX: redis.prefix,
    WEBHOOKS_PORT: '0',
    WEBHOOKS_INTERNAL_PORT: '0',
    WEBHOOKS_HOST: '127.0.0.1',
    WEBHOOKS_IDENTITY_URL: 'https://identity.signet.example',
    WEBHOOKS_IDENTITY_JWT_SECRET: '0123456789abcdef0123456789abcdef',
    WEBHOOKS_SECRET_KEYS: `k1:${Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7)).toString('base64')}`,
    WEBHOOKS_INTERNAL_TOKENS: [
      `pipeline:${digest(SERVICE_TOKEN)}`,
      `pipeline:${digest(SECOND_TOKEN)}`,
      `other:${digest('service-token-of-another-caller-012345678')}`,
    ].join(),
    WEBHOOKS_RATE_LIMITS_ENABLED: 'false',
    ...env,
  })
}

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

async function send(url: string, method: string, { token, body, raw, headers = {} }: Call): Promise<Reply> {
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(token == null ? {} : { authorization: `Bearer ${token}` }),
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    // A stream is sent in chunks, without a length.
    ...(payload === undefined ? {} : { body: payload, duplex: 'half' as const }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as never,
  }
}

export type SubscriptionBody = {
  id: string
  url: string
  events: string[]
  status: number
  consecutive_failures: number
  created_at: string
  updated_at: string
}

/** Creates a subscription through the API and answers its id and secret. */
export async function subscribe(
  api: Api,
  token: string,
  body: object = { url: 'https://example.com/hook', events: ['summary.completed'] },
): Promise<{ id: string; secret: string }> {
  const reply = await api.call('POST', '/v1/webhooks', { token, body })
  if (reply.status !== 200) throw new Error(`no subscription: ${reply.status} ${reply.text}`)
  const { endpoint_id, secret } = reply.body as { endpoint_id: string; secret: string }
  return { id: endpoint_id, secret }
}

export async function listOf(api: Api, token: string): Promise<SubscriptionBody[]> {
  const { body } = await api.call('GET', '/v1/webhooks', { token })
  return (body as { items: SubscriptionBody[] }).items
}

/** As twenty failures in a row leave a subscription. */
export async function disable(api: Api, id: string): Promise<void> {
  await api.db.query(
    'update webhook_endpoints set status = 2, disabled_at = now(), consecutive_failures = 20 where id = $1',
    [id],
  )
}

type EventRow = {
  id: string
  type: string
  target_endpoint_id: string | null
  state: string
  body: string | null
}

export async function eventRows(api: Api, accountId: string): Promise<EventRow[]> {
  const { rows } = await api.db.query<EventRow>(
    `select id, type, target_endpoint_id, state, body from webhook_events where account_id = $1
     order by created_at, id`,
    [accountId],
  )
  return rows
}

/** What waits in the queue of events, as Redis has it. */
export async function queuedEvents(api: Api): Promise<{ id: string | undefined; data: unknown }[]> {
  const { queues } = api.service.ctx
  const jobs = await queues.events.getJobs(['waiting', 'delayed', 'prioritized'])
  return jobs.map(({ id, data }) => ({ id, data }))
}

/** A summary-ready notice with every part. */
export const aNotice = (accountId: string, more: object = {}) => ({
  source_event_key: `summary:${randomUUID()}`,
  account_id: accountId,
  audio_id: 'rec_1001',
  recording: {
    report_id: 'rep_7',
    status: 3,
    title: 'Weekly sync',
    duration_ms: 1_834_000,
    recorded_at: '2026-01-01T09:00:00.000Z',
  },
  transcript: {
    language: 'en',
    text: 'Hello.',
    segments: [{ speaker: 'A', start: 0, end: 4.2, text: 'Hello.' }],
  },
  summaries: [{ label: 'Summary', content: '<h1>Hi</h1>', format: 'html', template_name: 'Default' }],
  ...more,
})

type Row = Record<string, unknown>
type Mirror = {
  recording: Row | null
  transcript: Row | null
  summaries: Row[]
}

/** The mirror rows of an account that has at most one recording. */
export async function mirrorOf(api: Api, accountId: string): Promise<Mirror> {
  const one = async (columns: string, table: string) =>
    (await api.db.query<Row>(`select ${columns} from ${table} where account_id = $1`, [accountId])).rows[0] ??
    null
  const recording = await one('report_id, status, title, duration_ms, recorded_at', 'recordings')
  const { rows } = await api.db.query<Row>(
    'select label, content, format, template_name from summaries where account_id = $1 order by position',
    [accountId],
  )
  return {
    recording: recording && {
      ...recording,
      recorded_at: (recording['recorded_at'] as Date | null)?.toISOString() ?? null,
    },
    transcript: await one('language, text, segments', 'transcripts'),
    summaries: rows,
  }
}
