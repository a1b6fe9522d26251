export { startTracing, type TracingOptions } from './tracing.js'
export { startMetricPush, type MetricPushOptions } from './metrics.js'
