import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ConfigError } from '@signet/config'
import { type Listener } from '@signet/http'
import { loadAuthConfig } from '../src/config.js'
import { startMetricsListener } from '../src/metrics-listener.js'
import { startServer, type TestServer } from './support/server.js'

const ON = {
  AUTH_METRICS_ENABLED: 'true',
  AUTH_METRICS_EXPORTER: 'prometheus',
  OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
  OTEL_EXPORTER_PROMETHEUS_PORT: '0',
}

describe('metrics (contract 12.5)', () => {
  let server: TestServer
  let metrics: Listener | null
  beforeAll(async () => {
    server = await startServer(ON)
    metrics = await startMetricsListener(server.context.config, server.context.registry)
  })
  afterAll(async () => {
    await metrics?.close(0)
    await server.close()
  })

  it('are scraped from a listener of their own, with runtime and HTTP figures', async () => {
    await fetch(`${server.url}/settings`)
    const text = await (await fetch(`http://127.0.0.1:${metrics?.port}/`)).text()
    expect(text).toContain('nodejs_eventloop_lag_seconds')
    expect(text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/settings",status_class="2xx"\} 1/,
    )
  })

  it('are not on the public listener', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404)
  })

  it('need no listener while they are off', () => {
    expect(
      startMetricsListener({ ...server.context.config, metricsEnabled: false }, server.context.registry),
    ).toBeNull()
  })

  it.each([{ AUTH_TRACING_ENABLED: 'true' }, { ...ON, AUTH_METRICS_EXPORTER: 'opentelemetry' }])(
    'refuse a switch that would do nothing: %p',
    (env) => {
      expect(() => loadAuthConfig(env)).toThrow(ConfigError)
      expect(() => loadAuthConfig(env)).toThrow(/in this version/)
    },
  )
})
