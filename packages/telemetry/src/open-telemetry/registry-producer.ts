import { ValueType, type HrTime } from '@opentelemetry/api'
import { hrTime, timeInputToHrTime } from '@opentelemetry/core'
import { emptyResource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type CollectionResult,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import type { MetricsRegistry } from '../metrics.js'

type Labels = Record<string, string | number>
type Sample = { value: number; labels: Labels; metricName?: string }
type Metric = { name: string; help: string; type: string | number; values: Sample[] }
type Period = { startTime: HrTime; endTime: HrTime }

/** Reads a Prometheus registry for OpenTelemetry, so that both exporters report the same metrics. */
export class RegistryProducer implements MetricProducer {
  readonly #startTime = timeInputToHrTime(performance.timeOrigin)

  constructor(private readonly registry: MetricsRegistry) {}

  async collect(): Promise<CollectionResult> {
    const metrics = (await this.registry.getMetricsAsJSON()) as unknown as Metric[]
    const period = { startTime: this.#startTime, endTime: hrTime() }
    return {
      resourceMetrics: {
        resource: emptyResource(),
        scopeMetrics: [
          { scope: { name: 'signet' }, metrics: metrics.map((metric) => convert(metric, period)) },
        ],
      },
      errors: [],
    }
  }
}

function convert(metric: Metric, period: Period): MetricData {
  const common = {
    descriptor: { name: metric.name, description: metric.help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  if (metric.type === 'histogram')
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(metric, period) }
  const dataPoints = metric.values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }): DataPoint<number> => ({ ...period, attributes: { ...labels }, value }))
  return metric.type === 'counter'
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
}

/** A histogram series consists of several samples: cumulative `le` buckets, a sum and a count. */
function histograms({ name, values }: Metric, period: Period): DataPoint<Histogram>[] {
  const series = new Map<
    string,
    { labels: Labels; buckets: Map<number, number>; sum: number; count: number }
  >()
  for (const { value, labels, metricName } of values) {
    const { le, ...own } = labels
    const key = JSON.stringify(Object.entries(own).sort())
    const found = series.get(key) ?? { labels: own, buckets: new Map<number, number>(), sum: 0, count: 0 }
    series.set(key, found)
    if (metricName === `${name}_sum`) found.sum = value
    else if (metricName === `${name}_count`) found.count = value
    else if (le !== '+Inf') found.buckets.set(Number(le), value)
  }
  return [...series.values()].map(({ labels, buckets, sum, count }) => {
    const sorted = [...buckets].sort(([one], [other]) => one - other)
    const atMost = [...sorted.map(([, cumulative]) => cumulative), count]
    return {
      ...period,
      attributes: labels,
      value: {
        buckets: {
          boundaries: sorted.map(([boundary]) => boundary),
          counts: atMost.map((cumulative, index) => cumulative - (atMost[index - 1] ?? 0)),
        },
        sum,
        count,
      },
    }
  })
}
