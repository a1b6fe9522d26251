import { createServer } from 'node:http'
import { listenLocally } from '@signet/testkit'
import { get, type ApiAnswer, type Json } from './api.js'

export type Seen = {
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string | undefined>
  form: Record<string, string>
}
export type Reply = { status?: number; headers?: Record<string, string>; body?: unknown } | 'break' | 'hang'
type Handler = Reply | ((request: Seen) => Reply)

/** A local server that stands in for a provider. It answers by `METHOD /path` and records every request. */
export type FakeProvider = {
  readonly url: string
  readonly seen: Seen[]
  /** Sets the answer of a route, replacing any earlier one. */
  answer(route: string, handler: Handler): void
  /** Like `answer`, but returns the previous answer. */
  replace(route: string, handler: Handler): Handler
  /** The last request to the route. */
  last(route: string): Seen
  close(): Promise<void>
}

export async function startFakeProvider(routes: Record<string, Handler> = {}): Promise<FakeProvider> {
  const handlers = new Map(Object.entries(routes))
  const seen: Seen[] = []
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => {
      const url = new URL(req.url ?? '', 'http://provider')
      const request: Seen = {
        method: req.method ?? '',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: req.headers as Record<string, string>,
        form: Object.fromEntries(new URLSearchParams(body)),
      }
      seen.push(request)
      const handler = handlers.get(`${request.method} ${request.path}`) ?? {
        status: 404,
        body: 'no such route',
      }
      const reply = typeof handler === 'function' ? handler(request) : handler
      if (reply === 'break') res.destroy()
      else if (reply !== 'hang')
        res
          .writeHead(reply.status ?? 200, reply.headers)
          .end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}))
    })
  })
  const { origin: url, close } = await listenLocally(server)
  return {
    url,
    seen,
    answer: (route, handler) => void handlers.set(route, handler),
    replace(route, handler) {
      const before = handlers.get(route) ?? { status: 404 }
      handlers.set(route, handler)
      return before
    },
    last(route) {
      const found = seen.findLast(({ method, path }) => `${method} ${path}` === route)
      if (!found) throw new Error(`${route} was not asked; only ${seen.map(({ path }) => path).join(', ')}`)
      return found
    },
    close,
  }
}

export const CALLBACK = 'https://auth.example.com/auth/v1/callback'
export const CLIENT_ID = 'client-id'
export const CLIENT_SECRET = 'client secret:with/odd+characters'

/** Settings that switch a provider on and point it at `url`. */
export function providerEnv(
  name: string,
  url: string,
  more: Record<string, string> = {},
): Record<string, string> {
  const prefix = `AUTH_EXTERNAL_${name.toUpperCase()}`
  const own = { ENABLED: 'true', CLIENT_ID, SECRET: CLIENT_SECRET, REDIRECT_URI: CALLBACK, URL: url, ...more }
  return {
    AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'true',
    ...Object.fromEntries(Object.entries(own).map(([key, value]) => [`${prefix}_${key}`, value])),
  }
}

export type Departure = { answer: ApiAnswer; location: URL; state: string }

/** The cookies that an answer sets, as a browser sends them back. */
export const cookiesOf = ({ headers }: ApiAnswer): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')

/** The cookies that the tests' browser keeps for each flow that it began, by the flow's `state`. */
const jar = new Map<string, string>()
export const keepCookie = (state: string, answer: ApiAnswer) => jar.set(state, cookiesOf(answer))
export const cookieFor = (state = ''): Record<string, string> => ({ cookie: jar.get(state) ?? '' })

/** Begins a flow and returns where the browser is sent. */
export const depart = (
  server: { url: string },
  provider: string,
  query: Record<string, string> = {},
): Promise<Departure> => departTo(server, `/authorize?${String(new URLSearchParams({ provider, ...query }))}`)

/** Like `depart`, for any path that begins a flow. */
export async function departTo(server: { url: string }, path: string): Promise<Departure> {
  const answer = await get(server, path)
  const location = new URL(answer.headers.get('location') ?? 'about:blank')
  const state = /signet_flow_([\w-]+)/.exec(cookiesOf(answer))?.[1] ?? ''
  keepCookie(state, answer)
  return { answer, location, state }
}

/** Comes back from the provider as the browser would. */
export const comeBack = (
  server: { url: string },
  parameters: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<ApiAnswer> =>
  get(server, `/callback?${String(new URLSearchParams(parameters))}`, {
    headers: { ...cookieFor(parameters['state']), ...headers },
  })

export type Target = { base: string; query: Record<string, string>; fragment: Record<string, string> }

/** The parts of the URL that a redirect leads to. */
export function targetOf(answer: ApiAnswer): Target {
  const url = new URL(answer.headers.get('location') ?? 'about:blank')
  const fragment = Object.fromEntries(new URLSearchParams(url.hash.slice(1)))
  return { base: `${url.origin}${url.pathname}`, query: Object.fromEntries(url.searchParams), fragment }
}

/** Signs in with a provider, from start to finish. Returns the parts of the last redirect. */
export async function signInWith(
  server: { url: string },
  provider: string,
  query: Record<string, string> = {},
): Promise<Target> {
  const { state } = await depart(server, provider, query)
  return targetOf(await comeBack(server, { code: 'the-code', state }))
}

/** The user of an access token in a fragment. */
export async function userOf(server: { url: string }, { fragment }: Target): Promise<Json> {
  const { body } = await get(server, '/user', { token: fragment['access_token'] ?? '' })
  return body
}
