import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '@signet/config'
import { readConfig } from '../src/config/read-config.js'

describe('settings of telemetry', () => {
  const required = {
    AUTH_SITE_URL: 'https://app.example.com',
    AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
    AUTH_DB_DRIVER: 'postgres',
    DATABASE_URL: 'postgres://127.0.0.1/auth',
    AUTH_JWT_SECRET: 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz',
    AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
  }
  const problemsOf = (env: Record<string, string>): readonly string[] => {
    try {
      readConfig({ ...required, ...env })
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
    return []
  }

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'ftp://collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'nonsense'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'http://'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no-equals-sign'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=c'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'key=%zz'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_RESOURCE_ATTRIBUTES', '=x'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_BSP_SCHEDULE_DELAY', '-7'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '7'],
    ['OTEL_EXPORTER_PROMETHEUS_PORT', '70000'],
    ['AUTH_OTEL_EXPORTER_PROMETHEUS_PORT', 'x'],
  ])('refuse %s=%s by name and without the value', (name, value) => {
    const problems = problemsOf({ [name]: value })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${name} must `))
    expect(problems[0]?.slice(name.length)).not.toContain(value)
  })

  it('refuse a path in the address of a gRPC collector', () => {
    const env = {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.com/v1/traces',
    }
    expect(problemsOf(env)).toEqual([expect.stringMatching(/^OTEL_EXPORTER_OTLP_ENDPOINT must have no path/)])
    expect(problemsOf({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.com:4317' })).toEqual(
      [],
    )
  })

  it('read the lists of OpenTelemetry in its own encoding', () => {
    const config = readConfig({
      ...required,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb, other=x=y',
      OTEL_RESOURCE_ATTRIBUTES: 'region=eu%20west',
    })
    expect(config.otlpHeaders).toEqual({ 'api-key': 'a,b', other: 'x=y' })
    expect(config.otelResourceAttributes).toEqual({ region: 'eu west' })
  })
})
