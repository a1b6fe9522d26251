import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { leasePort } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { startOtlpCollector, type CollectedSpan, type OtlpCollector } from '@signet/testkit/otlp'
import { anEmail, get, mailTo, PASSWORD, post, put } from './support/api.js'
import {
  cookieFor,
  depart,
  providerEnv,
  startFakeProvider,
  type FakeProvider,
} from './support/fake-provider.js'
import { startServed, type ServedProcess } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const pushTo = (collector: OtlpCollector, more: Record<string, string> = {}) => ({
  AUTH_TRACING_ENABLED: 'true',
  AUTH_METRICS_ENABLED: 'true',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.httpUrl,
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '100',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=te%20st,service.name=overridden,auth.version=forged',
  OTEL_SERVICE_NAME: 'identity',
  ...more,
})

describe('a service that exports over OTLP (docs/specification.md#tracing-and-metrics)', () => {
  let collector: OtlpCollector
  let provider: FakeProvider
  let server: ServedProcess
  const email = anEmail()
  const secrets: string[] = [email, PASSWORD]

  /** Signs up, confirms, signs in, refreshes, administers and uses a provider, with everything that must not be reported. */
  beforeAll(async () => {
    collector = await startOtlpCollector()
    provider = await startFakeProvider({
      'POST /login/oauth/access_token': { body: { access_token: 'provider-token-1', token_type: 'bearer' } },
      'GET /api/v3/user': { status: 500, body: {} },
    })
    server = await startServed({ ...pushTo(collector), ...providerEnv('github', provider.url) })
    await post(server, '/signup', { email, password: PASSWORD })
    const { token = '' } = await mailTo(server, email)
    const { body } = await get(
      server,
      `/verify?type=signup&token=${token}&redirect_to=https://app.example.com`,
    )
    expect(body).toEqual({})
    const signedIn = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
    const { access_token: access, refresh_token: refresh } = signedIn.body as Record<string, string>
    const user = signedIn.body['user'] as { id: string }
    await post(server, '/token?grant_type=refresh_token', { refresh_token: refresh })
    await put(server, '/user', { data: { full_name: 'Ann Example' } }, { token: access })
    const admin = serviceToken()
    await get(server, `/admin/users/${user.id}`, {
      token: admin,
      headers: {
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        'user-agent': 'spy/1.0',
      },
    })
    await get(server, `/admin/users/${email}`, { token: admin })
    await get(server, '/nowhere/at-all?token=query-secret')
    const { state } = await depart(server, 'github')
    await get(server, `/callback?code=provider-code-1&state=${state}`, { headers: cookieFor(state) })
    secrets.push(token, access ?? '', refresh ?? '', admin, state)
    secrets.push('provider-code-1', 'provider-token-1', 'Ann Example', 'query-secret', 'spy/1.0', '127.0.0.1')
    await server.stop()
  })
  afterAll(async () => {
    await server.close()
    await provider.close()
    await collector.close()
  })

  const requests = () => collector.spans.filter(({ kind }) => kind === 'server')
  const spanOf = (name: string) => {
    const found = requests().find((span) => span.name === name)
    if (!found)
      throw new Error(
        `no span ${name}, only ${requests()
          .map((span) => span.name)
          .join(', ')}`,
      )
    return found
  }
  const childrenOf = ({ spanId }: CollectedSpan) =>
    collector.spans.filter((span) => span.parentSpanId === spanId)

  it('sends a span for each request, with its route and the version', () => {
    expect(requests()).toHaveLength(10)
    expect(spanOf('POST /token')).toMatchObject({
      attributes: {
        'http.method': 'POST',
        'http.route': '/token',
        'http.status_code': 200,
        'auth.request_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
      resource: {
        'auth.version': expect.stringMatching(/^\d+\.\d+\.\d+/),
        'service.name': 'identity',
        'deployment.environment.name': 'te st',
      },
    })
  })

  it('writes parameters of a route in braces and sends their ids, but nothing else in their place', () => {
    const [found, refused] = requests().filter(({ name }) => name === 'GET /admin/users/{user_id}')
    expect(found?.attributes).toMatchObject({
      'http.route': '/admin/users/{user_id}',
      'http.route.params.user_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'http.status_code': 200,
    })
    expect(refused?.attributes).toMatchObject({
      'http.route.params.user_id': 'invalid',
      'http.status_code': 404,
      'auth.error_code': 'validation_failed',
    })
  })

  it('continues the trace of its caller', () => {
    expect(spanOf('GET /admin/users/{user_id}')).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
    })
  })

  it('names a request without a matching route by its method alone', () => {
    expect(spanOf('GET').attributes).toMatchObject({ 'http.method': 'GET', 'http.status_code': 404 })
    expect(spanOf('GET').attributes).not.toHaveProperty('http.route')
  })

  it('shows where a request spent its time', () => {
    const names = childrenOf(spanOf('POST /signup')).map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['hash password', 'transaction']))
    // Emails are sent after the answer, in separate traces.
    expect(names).not.toContain('smtp')
    expect(collector.spans.map(({ name }) => name)).toContain('smtp')
    const transaction = childrenOf(spanOf('POST /signup')).find(({ name }) => name === 'transaction')
    if (!transaction) throw new Error('no transaction')
    expect(childrenOf(transaction).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['insert users', 'audit_insert']),
    )
    const calls = childrenOf(spanOf('GET /callback')).filter(
      ({ attributes }) => 'server.address' in attributes,
    )
    expect(calls.map(({ name, kind, attributes }) => [name, kind, attributes['http.status_code']])).toEqual([
      ['POST', 'client', 200],
      ['GET', 'client', 500],
    ])
  })

  it('sends no secret, address or name', () => {
    const sent = Buffer.concat(collector.messages.map(({ bytes }) => bytes)).toString('latin1')
    const [provided = ''] = collector.spans
      .map(({ attributes }) => attributes['server.address'])
      .filter(Boolean)
    expect(sent.length).toBeGreaterThan(10_000)
    // The provider's host is loopback here. It is the only address that may be reported.
    const rest = sent.replaceAll(String(provided), '')
    for (const secret of secrets) {
      expect(secret).not.toBe('')
      expect({ secret, told: rest.includes(secret) }).toEqual({ secret, told: false })
    }
  })

  it('passes no trace on to other companies', () => {
    for (const { headers } of provider.seen) expect(headers).not.toHaveProperty('traceparent')
  })

  it('sends the documented counters and the figures of the process', () => {
    const last = (name: string, labels: Record<string, unknown> = {}) =>
      collector.points.findLast(
        (point) =>
          point.name === name &&
          Object.entries(labels).every(([key, value]) => point.attributes[key] === value),
      )
    const value = (name: string, labels?: Record<string, unknown>) => last(name, labels)?.value
    expect(value('auth_running')).toBe(1)
    expect(value('http_status_codes', { code: 200, http_route: '/token' })).toBe(2)
    expect(value('http_status_codes', { code: 404, http_route: 'unmatched' })).toBe(1)
    expect(last('http_request_duration_seconds', { route: '/token', status_class: '2xx' })).toMatchObject({
      type: 'histogram',
      value: 2,
    })
    // On a busy machine the first attempt may fail and be followed by another.
    const attempts = ['sent', 'failed'].map((outcome) =>
      Number(value('auth_outbox_attempts_total', { kind: 'email', outcome })),
    )
    expect(attempts[0]).toBeLessThanOrEqual(1)
    expect(value('global_auth_email_send_operations_total', { type: 'confirmation' })).toBe(
      attempts.reduce((sum, each) => sum + each),
    )
    expect(value('auth_generate_from_password_submitted')).toBe(1)
    expect(value('auth_generate_from_password_completed')).toBe(1)
    expect(value('auth_compare_hash_and_password_submitted')).toBe(1)
    expect(value('auth_compare_hash_and_password_completed')).toBe(1)
    expect(value('auth_cleanup_affected_rows')).toBe(0)
    expect(value('nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0)
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6)
    expect(last('auth_running')?.resource).toMatchObject({ 'service.name': 'identity' })
  })
})

describe('a service whose collector is down', () => {
  it.each(['refuses connections', 'takes them and never answers'])(
    'serves and stops as ever when it %s',
    async (how) => {
      const silent = createServer(() => undefined).listen(0, '127.0.0.1')
      await once(silent, 'listening')
      cleanups.push(() => (silent.closeAllConnections(), silent.close()))
      // Nobody listens on a port that is only leased.
      const port = how.startsWith('refuses') ? await leasePort() : (silent.address() as AddressInfo).port
      const server = await startServed({
        AUTH_TRACING_ENABLED: 'true',
        AUTH_METRICS_ENABLED: 'true',
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        // Longer than any test: a stop that waited for the collector would not end in time.
        OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
        OTEL_BSP_SCHEDULE_DELAY: '1',
        OTEL_METRIC_EXPORT_INTERVAL: '100',
      })
      cleanups.push(() => server.close())
      for (let i = 0; i < 20; i++) expect((await get(server, '/settings')).status).toBe(200)
      await server.stop()
    },
  )
})

describe('a service with DEBUG=true', () => {
  it('logs what the OpenTelemetry SDK does', async () => {
    const collector = await startOtlpCollector()
    cleanups.push(() => collector.close())
    const server = await startServed(
      pushTo(collector, { DEBUG: 'true', OTEL_EXPORTER_OTLP_HEADERS: 'x-key=topsecret' }),
    )
    cleanups.push(() => server.close())
    await get(server, '/settings')
    await waitFor(() => collector.spans.length > 0, { describe: 'a span' })
    expect(collector.messages[0]?.headers['x-key']).toBe('topsecret')
    await waitFor(() => server.lines().some(({ msg }) => msg === 'OpenTelemetry'), {
      describe: 'diagnostics',
    })
    expect(JSON.stringify(server.lines())).not.toContain('topsecret')
  })
})
