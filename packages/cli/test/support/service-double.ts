import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { CreatedToken, Delivery, PersonalToken, Webhook } from '../../src/api/types.js'
import { startDouble, type Answer, type DoubleServer, type Handler, type Seen } from './double-http.js'

type Hook = Webhook & { secret: string; nextSecret?: string }

/** What a test may change. */
export type Behavior = {
  /** The decision on the consent page. */
  consent: 'approve' | 'deny'
  /** The `iss` of the callback; the right one if undefined. */
  issuer: string | undefined
  /** Returns an answer to send instead of the usual one, or undefined. */
  override: (request: Seen) => Answer | undefined
}

export type ServiceDouble = DoubleServer & {
  behavior: Behavior
  hooks: Hook[]
  /** The delivery log, the same for every webhook; while it is empty, each webhook has one sample delivery. */
  log: Delivery[]
  tokens: Map<string, PersonalToken>
  /** Creates a webhook without running a command. */
  addHook: (url: string, events: string[]) => Hook
  /** Issues a personal token without a sign-in. */
  issueToken: (name?: string) => CreatedToken
  /** Sends a signed event to a webhook. */
  deliver: (hook: Hook, event: unknown, change?: Record<string, string>) => Promise<number>
}

const unauthorized: Answer = error(401, 'unauthorized', 'The access token is invalid or has expired')
const notFound: Answer = error(404, 'not_found', 'Not found')

/**
 * Stands in for the webhooks service over a real socket. Implements only the rules that the tool depends on.
 * `managers` are the bearers that may manage tokens besides OAuth access tokens, i.e. user JWTs.
 */
export async function startServiceDouble(managers: Set<string>): Promise<ServiceDouble> {
  const behavior: Behavior = { consent: 'approve', issuer: undefined, override: () => undefined }
  const hooks: Hook[] = []
  const log: Delivery[] = []
  const tokens = new Map<string, PersonalToken>()
  const codes = new Map<string, { challenge: string; redirectUri: string }>()
  const accessTokens = new Map<string, string>()
  let nextId = 42

  const issueToken = (name = 'a token', days = 90): CreatedToken => {
    const token = `svp_${randomBytes(18).toString('hex')}`
    const id = String((nextId += 1))
    const entry = {
      id,
      name,
      hint: `svp_…${token.slice(-4)}`,
      scope: 'mcp:connect',
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: new Date(Date.UTC(2026, 0, 1 + days)).toISOString(),
      last_used_at: '',
    }
    tokens.set(token, { ...entry, status: 'active' })
    return { ...entry, token }
  }

  const deliver: ServiceDouble['deliver'] = async (hook, event, change = {}) => {
    const body = JSON.stringify(event)
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', hook.secret).update(`${timestamp}.${body}`).digest('hex')
    const response = await fetch(hook.url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-service-event': (event as { type?: string }).type ?? '',
        'x-service-delivery': '981',
        'x-service-timestamp': timestamp,
        'x-service-signature': `sha256=${signature}`,
        ...change,
      },
    })
    return response.status
  }

  const oauth: Record<string, Handler> = {
    'GET /.well-known/oauth-authorization-server': () => ({
      body: {
        issuer: server.url,
        authorization_endpoint: `${server.url}/oauth/authorize`,
        token_endpoint: `${server.url}/oauth/token`,
        revocation_endpoint: `${server.url}/oauth/revoke`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      },
    }),
    'GET /oauth/authorize': ({ url }) => {
      const {
        redirect_uri: redirectUri = '',
        state = '',
        code_challenge: challenge = '',
      } = parameters(url.search)
      const code = `svc_${randomBytes(16).toString('hex')}`
      codes.set(code, { challenge, redirectUri })
      const target = new URL(redirectUri)
      if (behavior.consent === 'approve') target.searchParams.set('code', code)
      else target.searchParams.set('error', 'access_denied')
      target.searchParams.set('state', state)
      target.searchParams.set('iss', behavior.issuer ?? server.url)
      return { status: 302, headers: { location: target.href } }
    },
    'POST /oauth/token': ({ body }) => {
      const {
        code = '',
        code_verifier: verifier = '',
        redirect_uri: redirectUri,
        client_id: client,
      } = parameters(body)
      const found = codes.get(code)
      codes.delete(code)
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      if (found?.challenge !== challenge || found.redirectUri !== redirectUri || client !== 'svcl_cli') {
        return { status: 400, body: { error: 'invalid_grant', error_description: 'The code is not valid' } }
      }
      const access = `sva_${randomBytes(16).toString('hex')}`
      const refresh = `svr_${randomBytes(16).toString('hex')}`
      accessTokens.set(access, refresh)
      const scope = 'mcp:connect tokens:manage'
      const email = 'ana@example.com'
      return {
        body: {
          access_token: access,
          token_type: 'Bearer',
          expires_in: 3600,
          refresh_token: refresh,
          scope,
          email,
        },
      }
    },
    'POST /oauth/revoke': ({ body }) => {
      const { token } = parameters(body)
      for (const [access, refresh] of accessTokens) if (refresh === token) accessTokens.delete(access)
      return {}
    },
  }

  const account: Handler = ({ method, path, headers, body }) => {
    const bearer = bearerOf(headers.authorization)
    if (path === '/account/tokens/current')
      return tokens.delete(bearer) ? { body: { ok: true } } : unauthorized
    if (tokens.has(bearer)) return error(403, 'forbidden', 'A personal token may not manage tokens')
    if (!accessTokens.has(bearer) && !managers.has(bearer)) return unauthorized
    if (method === 'GET') return { body: { items: [...tokens.values()].reverse() } }
    if (method === 'POST') {
      const { name, expires_in_days: days } = JSON.parse(body) as { name: string; expires_in_days?: number }
      return { status: 201, body: issueToken(name, days) }
    }
    const found = [...tokens].find(([, { id }]) => id === path.split('/').at(-1))
    return found && tokens.delete(found[0]) ? { body: { ok: true } } : notFound
  }

  const v1: Handler = ({ method, path, headers, body, url }) => {
    if (!tokens.has(bearerOf(headers.authorization))) return unauthorized
    if (path === '/v1/webhook-events/samples') return { body: [sample(url.searchParams.get('event'))] }
    if (path === '/v1/webhooks' && method === 'GET') return { body: { items: hooks.map(visible) } }
    if (path === '/v1/webhooks' && method === 'POST') return createHook(body)
    const [, , , id, action] = path.split('/')
    const hook = hooks.find((one) => one.id === id)
    if (hook === undefined) return notFound
    if (action === 'deliveries') return deliveries(hook, path, url.searchParams)
    if (action === 'test') {
      const event = ping(hook)
      // The request is answered whether or not the delivery arrives.
      if (hook.status === 1) deliver(hook, event).catch(() => undefined)
      return { body: { event_id: event.id, queued: hook.status === 1 } }
    }
    if (action === 'enable') {
      Object.assign(hook, { status: 1, consecutive_failures: 0 })
      return { body: { item: visible(hook) } }
    }
    if (action === 'secret') return changeSecret(hook, path, body)
    if (method === 'GET') return { body: { item: visible(hook) } }
    if (method === 'DELETE') {
      hooks.splice(hooks.indexOf(hook), 1)
      return { body: { ok: true } }
    }
    const change = JSON.parse(body) as { url?: string; events?: string[] }
    // PATCH clears what is omitted.
    Object.assign(hook, { url: change.url ?? hook.url, events: change.events ?? [] })
    return { body: { item: visible(hook) } }
  }

  /** The log in pages of `page_size`; the cursor is the index at which the next page begins. */
  const deliveries = (hook: Hook, path: string, query: URLSearchParams): Answer => {
    const id = path.split('/')[5]
    const entries = log.length > 0 ? log : [delivery(hook)]
    if (id !== undefined) {
      const entry = entries.find((one) => one.id === id)
      if (entry && path.endsWith('/replay')) return { body: { item: { ...entry, id: '982', status: 0 } } }
      return entry
        ? { body: { item: { ...entry, next_attempt_at: '', attempt_log: [attempt, untrusted] } } }
        : notFound
    }
    const start = Number(query.get('cursor') ?? 0)
    const end = start + Number(query.get('page_size') ?? 20)
    const next_cursor = end < entries.length ? String(end) : ''
    return { body: { items: entries.slice(start, end), next_cursor } }
  }

  const changeSecret = (hook: Hook, path: string, body: string): Answer => {
    if (path.endsWith('/rotate')) {
      hook.nextSecret = `whsec_${randomBytes(32).toString('base64')}`
      const { activate_after_hours: hours } = JSON.parse(body || '{}') as { activate_after_hours?: number }
      const secret_activates_at = hours === 0 ? '' : '2026-01-02T00:00:00.000Z'
      return { body: { endpoint_id: hook.id, secret: hook.nextSecret, secret_activates_at } }
    }
    if (hook.nextSecret === undefined) return error(409, 'conflict', 'There is no next secret')
    if (path.endsWith('/activate')) hook.secret = hook.nextSecret
    delete hook.nextSecret
    return { body: { item: visible(hook) } }
  }

  const createHook = (body: string): Answer => {
    const { url, events = [] } = JSON.parse(body) as { url: string; events?: string[] }
    if (hooks.length >= 5) return error(429, 'too_many_requests', 'At most 5 webhooks')
    const { id, secret } = addHook(url, events)
    return { body: { endpoint_id: id, secret, url, events, status: 1 } }
  }

  const addHook = (url: string, events: string[]): Hook => {
    const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    const hook = {
      id: String((nextId += 1)),
      url,
      events,
      status: 1,
      consecutive_failures: 0,
      failing_since: '',
      disabled_at: '',
      disabled_reason: '',
      secret_activates_at: '',
      ...times,
      secret,
    }
    hooks.push(hook)
    return hook
  }

  const server = await startDouble((request) => {
    const overridden = behavior.override(request)
    if (overridden) return overridden
    const handler = oauth[`${request.method} ${request.path}`]
    if (handler) return handler(request)
    if (request.path.startsWith('/account/tokens')) return account(request)
    return request.path.startsWith('/v1/') ? v1(request) : notFound
  })
  return Object.assign(server, { behavior, hooks, log, tokens, addHook, issueToken, deliver })
}

function error(status: number, code: string, message: string): Answer {
  return { status, body: { error: { code, message } } }
}

const parameters = (text: string): Record<string, string | undefined> =>
  Object.fromEntries(new URLSearchParams(text))
const bearerOf = (header = ''): string => header.replace(/^Bearer /, '')
const visible = ({ secret: _, nextSecret: __, ...hook }: Hook): Webhook => hook

const ping = (hook: Hook) => ({
  id: `evt_${randomBytes(16).toString('hex')}`,
  type: 'webhook.ping',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { endpoint_id: hook.id, message: 'This is a test event.' },
})

const sample = (type: string | null) => ({
  id: 'evt_sample_summary_completed',
  type: type ?? 'summary.completed',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { audio_id: 'rec_1001', title: 'Weekly \u001b[31msync' },
})

const attempt = {
  number: 1,
  started_at: '2026-01-01T00:00:01.000Z',
  duration_ms: 37,
  phases: { dns_ms: 1, first_byte_ms: 20 },
  http_status: 503,
  error: 'http_503',
  peer_address: '93.184.215.14',
  answer: 'Not \u001b[31mnow',
}

const untrusted = {
  number: 2,
  started_at: '2026-01-01T00:01:01.000Z',
  duration_ms: 9,
  phases: {},
  error: 'tls_error',
  tls_problem: 'certificate_expired',
  peer_address: '93.184.215.14',
  answer: '',
}

const delivery = (hook: Hook) => ({
  id: '981',
  endpoint_id: hook.id,
  event_id: 'evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0',
  event_type: 'webhook.ping',
  status: 0,
  attempts: 2,
  last_error: 'http_503',
  delivered_at: '',
  created_at: '2026-01-01T00:00:00.000Z',
})
