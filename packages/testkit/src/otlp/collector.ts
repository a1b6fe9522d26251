import { createServer, type IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import {
  Server as GrpcServer,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
} from '@grpc/grpc-js'
import { listenLocally } from '../local-server.js'
import { decodeMetrics, decodeTraces, plainAttributes, type RawPoint } from './schema.js'

type Attributes = Record<string, string | number | boolean>

export type CollectedSpan = {
  traceId: string
  spanId: string
  /** Empty for the first span of a trace. */
  parentSpanId: string
  name: string
  kind: 'internal' | 'server' | 'client'
  failed: boolean
  attributes: Attributes
  resource: Attributes
}
export type CollectedPoint = {
  name: string
  type: 'gauge' | 'counter' | 'histogram'
  attributes: Attributes
  resource: Attributes
  /** For a histogram, the number of recorded values. */
  value: number
  histogram?: { sum: number; bounds: number[]; counts: number[] }
}

/** A local OpenTelemetry collector: OTLP over HTTP and over gRPC, each message decoded. */
export type OtlpCollector = {
  readonly httpUrl: string
  readonly grpcUrl: string
  readonly spans: CollectedSpan[]
  /** Every point of every push; the newest last. */
  readonly points: CollectedPoint[]
  /** The messages as received, but decompressed, with their headers. */
  readonly messages: { via: 'http' | 'grpc'; path: string; headers: IncomingHttpHeaders; bytes: Buffer }[]
  close(): Promise<void>
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const points: CollectedPoint[] = []
  const messages: OtlpCollector['messages'] = []
  const take = (message: OtlpCollector['messages'][number]) => {
    messages.push(message)
    if (/traces|TraceService/.test(message.path)) spans.push(...spansIn(message.bytes))
    else points.push(...pointsIn(message.bytes))
  }
  const http = await startHttp(take)
  const grpc = await startGrpc(take)
  return {
    httpUrl: http.url,
    grpcUrl: grpc.url,
    spans,
    points,
    messages,
    async close() {
      await http.close()
      grpc.close()
    },
  }
}

type Take = (message: OtlpCollector['messages'][number]) => void

async function startHttp(take: Take) {
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { url: path = '', headers } = req
      const known = path === '/v1/traces' || path === '/v1/metrics'
      if (!known || req.method !== 'POST' || headers['content-type'] !== 'application/x-protobuf')
        return res.writeHead(415).end()
      const body = Buffer.concat(chunks)
      take({
        via: 'http',
        path,
        headers,
        bytes: headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body,
      })
      return res.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end()
    })
  })
  const { origin: url, close } = await listenLocally(server)
  return { url, close }
}

async function startGrpc(take: Take) {
  const server = new GrpcServer()
  for (const name of ['trace.v1.TraceService', 'metrics.v1.MetricsService']) {
    const path = `/opentelemetry.proto.collector.${name}/Export`
    server.addService(exportService(path), {
      Export(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
        take({
          via: 'grpc',
          path,
          headers: call.metadata.getMap() as IncomingHttpHeaders,
          bytes: call.request,
        })
        answer(null, Buffer.alloc(0))
      },
    })
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  return { url: `http://127.0.0.1:${port}`, close: () => server.forceShutdown() }
}

const asIs = (bytes: Buffer) => bytes

const exportService = (path: string): ServiceDefinition => ({
  Export: {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
})

const KINDS: Record<number, CollectedSpan['kind']> = { 1: 'internal', 2: 'server', 3: 'client' }
const STATUS_ERROR = 2

function spansIn(bytes: Buffer): CollectedSpan[] {
  const { resourceSpans = [] } = decodeTraces(bytes)
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans
      .flatMap(({ spans = [] }) => spans)
      .map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId ?? ''),
        name: span.name,
        kind: KINDS[span.kind] ?? 'internal',
        failed: span.status?.code === STATUS_ERROR,
        attributes: plainAttributes(span.attributes),
        resource: plainAttributes(resource?.attributes),
      })),
  )
}

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')

function pointsIn(bytes: Buffer): CollectedPoint[] {
  const { resourceMetrics = [] } = decodeMetrics(bytes)
  return resourceMetrics.flatMap(({ resource, scopeMetrics = [] }) =>
    scopeMetrics
      .flatMap(({ metrics = [] }) => metrics)
      .flatMap(({ name, gauge, sum, histogram }) => {
        const type = gauge ? 'gauge' : sum ? 'counter' : 'histogram'
        const points = (gauge ?? sum ?? histogram)?.dataPoints ?? []
        const of = plainAttributes(resource?.attributes)
        return points.map((point): CollectedPoint => ({ name, type, resource: of, ...valueOf(point) }))
      }),
  )
}

function valueOf(point: RawPoint): Pick<CollectedPoint, 'attributes' | 'value' | 'histogram'> {
  const attributes = plainAttributes(point.attributes)
  if (point.bucketCounts === undefined) return { attributes, value: point.asDouble ?? point.asInt ?? 0 }
  return {
    attributes,
    value: point.count ?? 0,
    histogram: { sum: point.sum ?? 0, bounds: point.explicitBounds ?? [], counts: point.bucketCounts },
  }
}
