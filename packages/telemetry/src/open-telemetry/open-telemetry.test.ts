import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { startOtlpCollector, type OtlpCollector } from '@signet/testkit/otlp'
import { Counter, Gauge, Histogram } from 'prom-client'
import { createLogger, createRegistry, type OtlpOptions, type Tracing } from '../index.js'
import { startMetricPush, startTracing, type TracingOptions } from './index.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function aCollector(): Promise<OtlpCollector> {
  const collector = await startOtlpCollector()
  cleanups.push(() => collector.close())
  return collector
}

function capture() {
  const lines: string[] = []
  return { lines, log: createLogger({ level: 'info', component: 'test', sink: (line) => lines.push(line) }) }
}

const exporterTo = (url: string, more: Partial<OtlpOptions> = {}): OtlpOptions => ({
  protocol: 'http/protobuf',
  url,
  headers: {},
  timeoutMs: 60_000,
  compression: 'none',
  ...more,
})

async function tracingTo(exporter: OtlpOptions, more: Partial<TracingOptions> = {}): Promise<Tracing> {
  const tracing = await startTracing({
    exporter,
    resource: { 'service.name': 'test', 'auth.version': '1.2.3' },
    sampler: { name: 'parentbased_always_on', ratio: 1 },
    delayMs: 10,
    debug: false,
    log: capture().log,
    ...more,
  })
  cleanups.push(() => tracing.close())
  return tracing
}

describe('traces', () => {
  it.each(['http/protobuf', 'grpc'] as const)(
    'reach the collector over %s, with headers and resource',
    async (protocol) => {
      const collector = await aCollector()
      const url = protocol === 'grpc' ? collector.grpcUrl : `${collector.httpUrl}/v1/traces`
      const tracing = await tracingTo(
        exporterTo(url, { protocol, headers: { 'x-key': 'k1' }, compression: 'gzip' }),
      )
      tracing.start('one', { kind: 'server', attributes: { a: 1, b: 'two', c: true } }).end()
      await tracing.close()
      expect(collector.spans).toMatchObject([
        {
          name: 'one',
          kind: 'server',
          failed: false,
          attributes: { a: 1, b: 'two', c: true },
          resource: { 'service.name': 'test', 'auth.version': '1.2.3' },
        },
      ])
      expect(collector.messages[0]?.headers['x-key']).toBe('k1')
    },
  )

  it('nest along the work, also where two go on at once', async () => {
    const collector = await aCollector()
    const tracing = await tracingTo(exporterTo(`${collector.httpUrl}/v1/traces`))
    const request = (name: string) =>
      tracing.span(name, { kind: 'server' }, async () => {
        await new Promise(setImmediate)
        await tracing.span(`${name} inner`, {}, () => Promise.resolve())
      })
    await Promise.all([request('a'), request('b')])
    await tracing.close()
    const named = (name: string) => collector.spans.find((span) => span.name === name)
    for (const name of ['a', 'b']) {
      expect(named(name)?.parentSpanId).toBe('')
      expect(named(`${name} inner`)).toMatchObject({
        parentSpanId: named(name)?.spanId,
        traceId: named(name)?.traceId,
      })
    }
    expect(named('a')?.traceId).not.toBe(named('b')?.traceId)
  })

  it('continue a traceparent, and its decision not to record', async () => {
    const collector = await aCollector()
    const tracing = await tracingTo(exporterTo(`${collector.httpUrl}/v1/traces`))
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const from = (flags: string) => `00-${traceId}-b7ad6b7169203331-${flags}`
    tracing.start('kept', { traceparent: from('01') }).end()
    tracing.start('left out', { traceparent: from('00') }).end()
    tracing.start('fresh', { traceparent: 'nonsense' }).end()
    await tracing.close()
    expect(collector.spans.map(({ name }) => name)).toEqual(['kept', 'fresh'])
    expect(collector.spans[0]).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' })
    expect(collector.spans[1]?.traceId).not.toBe(traceId)
  })

  it('report the code or class of a failure, never its message', async () => {
    const collector = await aCollector()
    const tracing = await tracingTo(exporterTo(`${collector.httpUrl}/v1/traces`))
    const failing = (error: unknown) => tracing.span('work', {}, () => Promise.reject(error as Error))
    await expect(failing(new TypeError('ann@example.com'))).rejects.toThrow('ann@example.com')
    await expect(failing(Object.assign(new Error('s3cret'), { code: '23505' }))).rejects.toThrow('s3cret')
    await tracing.close()
    expect(collector.spans.map(({ failed, attributes }) => ({ failed, ...attributes }))).toEqual([
      { failed: true, 'error.type': 'TypeError' },
      { failed: true, 'error.type': '23505' },
    ])
    const sent = Buffer.concat(collector.messages.map(({ bytes }) => bytes)).toString()
    expect(sent).not.toMatch(/ann@|s3cret/)
  })

  it.each([
    ['always_on', 1, 20],
    ['always_off', 1, 0],
    ['parentbased_always_off', 1, 0],
    ['traceidratio', 0, 0],
    ['parentbased_traceidratio', 1, 20],
  ] as const)('are recorded as the sampler %s at %d says', async (name, ratio, expected) => {
    const collector = await aCollector()
    const tracing = await tracingTo(exporterTo(`${collector.httpUrl}/v1/traces`), {
      sampler: { name, ratio },
    })
    for (let i = 0; i < 20; i++) tracing.start('span').end()
    await tracing.close()
    expect(collector.spans).toHaveLength(expected)
  })
})

describe('a collector that is down', () => {
  it('costs a closing service a few seconds at most', async () => {
    const asked: ServerResponse[] = []
    const silent = createHttpServer((_req, res) => asked.push(res)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    cleanups.push(() => silent.close())
    const port = (silent.address() as AddressInfo).port
    // Longer than any test may take, so a close that waited for the collector would fail the test.
    const tracing = await tracingTo(exporterTo(`http://127.0.0.1:${port}/v1/traces`, { timeoutMs: 600_000 }))
    tracing.start('lost').end()
    await tracing.close()
    expect(asked).toHaveLength(1)
    // Without an answer, the exporter would wait for the whole timeout and keep the process alive.
    asked[0]?.writeHead(400, { Connection: 'close' }).end()
  })

  it('is logged once while it refuses again and again, without the headers', async () => {
    let refused = 0
    const refusing = createHttpServer((_req, res) => {
      refused++
      res.writeHead(400).end()
    }).listen(0, '127.0.0.1')
    await once(refusing, 'listening')
    cleanups.push(() => (refusing.closeAllConnections(), refusing.close()))
    const { lines, log } = capture()
    const push = await startMetricPush({
      exporter: exporterTo(`http://127.0.0.1:${(refusing.address() as AddressInfo).port}/v1/metrics`, {
        headers: { 'x-key': 'topsecret' },
      }),
      resource: {},
      registry: createRegistry({ runtime: false }),
      intervalMs: 100,
      debug: false,
      log,
    })
    cleanups.push(() => push.close())
    await waitFor(() => refused >= 4, { describe: 'four refused pushes' })
    const failures = lines.filter((line) => line.includes('telemetry could not be exported'))
    expect(failures).toHaveLength(1)
    expect(lines.join('\n')).not.toContain('topsecret')
  })
})

describe('metrics', () => {
  it.each(['http/protobuf', 'grpc'] as const)(
    'are pushed over %s as the registry has them',
    async (protocol) => {
      const collector = await aCollector()
      const registry = createRegistry({ runtime: true })
      const common = { help: 'h', registers: [registry] }
      new Counter({ ...common, name: 'calls', labelNames: ['kind'] }).inc({ kind: 'x' }, 3)
      new Gauge({ ...common, name: 'level' }).set(1.5)
      new Gauge({ ...common, name: 'unknown' }).set(NaN)
      const duration = new Histogram({ ...common, name: 'seconds', labelNames: ['route'], buckets: [1, 2] })
      for (const value of [0.5, 0.6, 1.5, 9]) duration.observe({ route: '/a' }, value)
      duration.observe({ route: '/b' }, 2)
      const push = await startMetricPush({
        exporter: exporterTo(protocol === 'grpc' ? collector.grpcUrl : `${collector.httpUrl}/v1/metrics`, {
          protocol,
        }),
        resource: { 'auth.version': '1.2.3' },
        registry,
        intervalMs: 60_000,
        debug: false,
        log: capture().log,
      })
      await push.close()
      registry.clear()
      const named = (name: string) => collector.points.filter((point) => point.name === name)
      expect(named('calls')).toMatchObject([
        { type: 'counter', value: 3, attributes: { kind: 'x' }, resource: { 'auth.version': '1.2.3' } },
      ])
      expect(named('level')).toMatchObject([{ type: 'gauge', value: 1.5 }])
      expect(named('unknown')).toEqual([])
      expect(named('seconds')).toMatchObject([
        {
          attributes: { route: '/a' },
          value: 4,
          histogram: { bounds: [1, 2], counts: [2, 1, 1], sum: 11.6 },
        },
        { attributes: { route: '/b' }, value: 1, histogram: { bounds: [1, 2], counts: [0, 1, 0], sum: 2 } },
      ])
      expect(named('process_resident_memory_bytes')[0]?.value).toBeGreaterThan(1e6)
      expect(named('nodejs_eventloop_lag_seconds')).toHaveLength(1)
    },
  )
})
