import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from '@jest/globals'
import type { Db } from '@signet/db'
import type { Resolver } from '@signet/address-guard'
import { jsonLines } from '@signet/testkit'
import type { WebhooksService } from '../../src/serve.js'
import { aToken } from './access-token.js'
import { SERVICE_TOKEN, startHarness, type Harness } from './harness.js'

type Line = Record<string, unknown>
export type Reply = { status: number; headers: Headers; text: string; body: never }
type Call = {
  token?: string | null
  body?: unknown
  headers?: Record<string, string>
  raw?: string | Uint8Array | ReadableStream
}

export type ApiOptions = {
  /** Overrides of the environment, known only when the tests begin. */
  env?: () => Record<string, string>
  /** An empty database instead of a copy of the template. */
  databaseUrl?: () => Promise<string>
  resolver?: Resolver
}

/** Resolves every name to a public address, so that endpoints can be created without a network. */
const publicResolver: Resolver = () => Promise.resolve([{ address: '93.184.215.14', family: 4 }])

/**
 * The service of {@link startHarness} behind a public address, for tests of `/v1` and the internal API. Usable from the
 * first `beforeAll` on.
 */
export function useApi({ env, databaseUrl, resolver = publicResolver }: ApiOptions = {}) {
  let harness: Harness | undefined
  beforeAll(async () => {
    harness = await startHarness({
      env: {
        WEBHOOKS_BASE_URL: 'https://hooks.signet.example',
        WEBHOOKS_IDENTITY_PUBLIC_URL: 'https://identity.signet.example',
        ...env?.(),
      },
      resolver,
      ...(databaseUrl ? { databaseUrl: await databaseUrl() } : {}),
    })
  })
  const running = () => {
    if (harness === undefined) throw new Error('the service is there from beforeAll on')
    return harness
  }
  const close = async () => harness?.close()
  afterAll(async () => {
    await close()
    harness = undefined // frees it, because the module of the test file stays loaded
  })
  return {
    /** What the service logged so far. */
    get lines(): Line[] {
      return running().logLines.map((line) => JSON.parse(line) as Line)
    },
    get db(): Db {
      return running().db
    },
    get service(): WebhooksService {
      return running().service
    },
    /** Stops the service before the tests of the file end. */
    close,
    get url() {
      return running().origin
    },
    get internalUrl() {
      return running().internal
    },
    /** Calls the public API. */
    call: (method: string, path: string, call: Call = {}) => send(`${running().origin}${path}`, method, call),
    /** Calls the internal API, with a service token unless `token` says otherwise. */
    internal: (method: string, path: string, call: Call = {}) =>
      send(`${running().internal}${path}`, method, { token: SERVICE_TOKEN, ...call }),
    /** A fresh account with an access token of scope `mcp:connect`. */
    async anAccount(): Promise<{ accountId: string; token: string }> {
      const accountId = randomUUID()
      return { accountId, token: await aToken(running().db, accountId) }
    },
  }
}
export type Api = ReturnType<typeof useApi>

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
  const type = response.headers.get('content-type') ?? ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: bodyOf(type, text) as never,
  }
}

/** NDJSON becomes a list. */
function bodyOf(type: string, text: string): unknown {
  if (type.startsWith('application/json')) return JSON.parse(text)
  return type === 'application/x-ndjson' ? jsonLines(text) : {}
}
