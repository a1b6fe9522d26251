import { afterEach, describe, expect, it } from '@jest/globals'
import { anEmail, get, PASSWORD, post } from './support/api.js'
import { leasePort } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { NO_MAIL_SERVER } from './support/process.js'
import { startServed } from './support/server.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

// The service does not log the port of this listener, so the tests lease one.
describe('a service that Prometheus scrapes (docs/specification.md#tracing-and-metrics)', () => {
  it('answers at `/` of a separate listener, and nowhere on the public one', async () => {
    const port = await leasePort()
    const server = await startServed({
      AUTH_METRICS_ENABLED: 'true',
      AUTH_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      OTEL_EXPORTER_PROMETHEUS_PORT: String(port),
      AUTH_RATE_LIMIT_EMAIL_SENT: '1',
    })
    cleanups.push(() => server.close())
    for (let i = 0; i < 2; i++) await post(server, '/magiclink', { email: anEmail() })
    const scrape = () => fetch(`http://127.0.0.1:${port}/`)
    expect((await scrape()).headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    // The email is sent after the answer.
    const text = await waitFor(async () => {
      const scraped = await (await scrape()).text()
      return scraped.includes('global_auth_email_send_operations_total{type="confirmation"} 1') && scraped
    })
    const lines = text.split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'auth_running 1',
        'http_status_codes{code="200",http_route="/magiclink"} 1',
        'http_status_codes{code="429",http_route="/magiclink"} 1',
        'http_request_duration_seconds_count{method="POST",route="/magiclink",status_class="4xx"} 1',
        'auth_email_rate_limit_counter{path="/magiclink"} 1',
        'global_auth_email_send_operations_total{type="confirmation"} 1',
        'auth_generate_from_password_submitted 0',
        'auth_generate_from_password_completed 0',
        'auth_compare_hash_and_password_submitted 0',
        'auth_compare_hash_and_password_completed 0',
        'auth_cleanup_affected_rows 0',
      ]),
    )
    expect(text).toContain('nodejs_eventloop_lag_seconds')
    expect((await get(server, '/metrics')).status).toBe(404)
    await server.stop()
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  })

  it('counts emails that could not be sent', async () => {
    const port = await leasePort()
    const server = await startServed({
      AUTH_METRICS_ENABLED: 'true',
      AUTH_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      AUTH_OTEL_EXPORTER_PROMETHEUS_PORT: String(port),
      ...NO_MAIL_SERVER,
    })
    cleanups.push(() => server.close())
    expect((await post(server, '/signup', { email: anEmail(), password: PASSWORD })).status).toBe(200)
    await waitFor(async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/`)).text()
      expect(text).toMatch(/global_auth_email_send_operations_total\{type="confirmation"\} [1-9]/)
      expect(text).toMatch(/global_auth_email_send_errors_total\{type="confirmation"\} [1-9]/)
      expect(text).toContain('auth_outbox_waiting{kind="email"} 1')
      return true
    })
  })
})
