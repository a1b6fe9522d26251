import { coresOf, LAYOUTS, type Layout, MEASURED } from './model.js'
import { simulate, type Simulated } from './simulate.js'

const SECONDS = 6
const GOAL_P99_MS = 1000
/** A deployment that must survive a busy minute normally runs at this fraction of its capacity. */
const HEADROOM = 0.7
/** Price of one core for an hour, in any currency. */
const CORE_HOUR = 0.04

/** Rates at which `npm run bench -- pipeline` was measured on two cores, for comparison. */
const MEASURED_RATES = [200, 500]

export type Capacity = { perSecond: number; first: string; costOfMillion: number }

/** The highest rate at which no queue grows and 99 of 100 events arrive within a second, to the nearest 5 %. */
export function capacityOf(layout: Layout): Capacity {
  const holds = (run: Simulated) => run.growth < 2 && run.p99Ms < GOAL_P99_MS
  let low = 200
  let high = 400
  while (holds(simulate(layout, { perSecond: high, seconds: SECONDS }))) [low, high] = [high, high * 2]
  while (high / low > 1.05) {
    const middle = Math.sqrt(low * high)
    if (holds(simulate(layout, { perSecond: middle, seconds: SECONDS }))) low = middle
    else high = middle
  }
  const { busy } = simulate(layout, { perSecond: low, seconds: SECONDS })
  const [first = ''] = Object.entries(busy).sort(([, a], [, b]) => b - a)[0] ?? []
  const perHour = HEADROOM * low * 3600
  return { perSecond: low, first, costOfMillion: (coresOf(layout) * CORE_HOUR * 1_000_000) / perHour }
}

const rounded = (value: number) => (value < 100 ? Math.round(value) : Number(value.toPrecision(2)))

/** The text of the page. */
export function simulationText(layouts: readonly Layout[] = LAYOUTS): string {
  const checks = MEASURED_RATES.map((perSecond) => {
    const { p50Ms, p99Ms } = simulate(MEASURED, { perSecond, seconds: SECONDS })
    return `${MEASURED.name}, ${perSecond} a second: p50 ${rounded(p50Ms)} ms, p99 ${rounded(p99Ms)} ms`
  })
  const rows = layouts.map((layout) => {
    const { perSecond, first, costOfMillion } = capacityOf(layout)
    return [
      layout.name,
      String(coresOf(layout)),
      rounded(perSecond).toLocaleString('en'),
      first,
      costOfMillion.toFixed(2),
    ]
  })
  const head = ['layout', 'cores', 'events a second', 'full first', 'cores for a million']
  return [...checks, '', ...columns([head, ...rows])].join('\n')
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  )
}
