import protobuf from 'protobufjs'

// The members of the OTLP messages that tests look at; a decoder skips what it does not know.
const SCHEMA = `
syntax = "proto3";
message TraceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
}
message Event { string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; int32 code = 3; }
message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric { string name = 1; string description = 2; Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
message Gauge { repeated NumberPoint data_points = 1; }
message Sum { repeated NumberPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
message NumberPoint { repeated KeyValue attributes = 7; double as_double = 4; sfixed64 as_int = 6; }
message HistogramPoint {
  repeated KeyValue attributes = 9; fixed64 count = 4; double sum = 5;
  repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
}
message Resource { repeated KeyValue attributes = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`

type AnyValue = { stringValue?: string; boolValue?: boolean; intValue?: number; doubleValue?: number }
type KeyValue = { key: string; value?: AnyValue }
type Resource = { attributes?: KeyValue[] }

export type RawSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes?: KeyValue[]
  events?: unknown[]
  status?: { code?: number; message?: string }
}
export type RawPoint = {
  attributes?: KeyValue[]
  asDouble?: number
  asInt?: number
  count?: number
  sum?: number
  bucketCounts?: number[]
  explicitBounds?: number[]
}
export type RawMetric = {
  name: string
  gauge?: { dataPoints?: RawPoint[] }
  sum?: { dataPoints?: RawPoint[]; isMonotonic?: boolean; aggregationTemporality?: number }
  histogram?: { dataPoints?: RawPoint[]; aggregationTemporality?: number }
}
export type TraceRequest = {
  resourceSpans?: { resource?: Resource; scopeSpans?: { spans?: RawSpan[] }[] }[]
}
export type MetricsRequest = {
  resourceMetrics?: { resource?: Resource; scopeMetrics?: { metrics?: RawMetric[] }[] }[]
}

const root = protobuf.parse(SCHEMA).root

const decode = (type: string, bytes: Buffer): unknown => {
  const message = root.lookupType(type)
  return message.toObject(message.decode(bytes), { longs: Number, bytes: String })
}

export const decodeTraces = (bytes: Buffer) => decode('TraceRequest', bytes) as TraceRequest
export const decodeMetrics = (bytes: Buffer) => decode('MetricsRequest', bytes) as MetricsRequest

export const plainAttributes = (pairs: readonly KeyValue[] = []): Record<string, string | number | boolean> =>
  Object.fromEntries(
    pairs.map(({ key, value = {} }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.intValue ?? value.doubleValue ?? '',
    ]),
  )
