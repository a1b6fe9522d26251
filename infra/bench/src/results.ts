import type { Machine } from './machine.js'

/** What a bench prints about one of the things that it compares. */
export type Measured = {
  bench: 'pipeline' | 'common'
  case: string
  who: string
  /** Per second. */
  value: number
  /** CPU times in µs per delivery or request, in total and as `cpuUs of <process>`; other times in ms. */
  others: Readonly<Record<string, number>>
}

/** How one of the compared products was configured, as its bench describes it. */
export type Setting = { who: string; settings: string }

export type Results = {
  machine: Machine
  /** Other processes were using the CPU. */
  wasBusy: boolean
  rounds: number
  /** Fraction of the usual number of events. */
  scale: number
  measured: readonly Measured[]
  settings: readonly Setting[]
}

/** Reads the results from the lines of a bench. Ignores goals and ratios, which are for the pages of the apps. */
export function readLine(line: string): { measured?: Measured; setting?: Setting } {
  if (!line.startsWith('{')) return {}
  const value = JSON.parse(line) as Partial<Measured & Setting>
  if (value.who === undefined) return {}
  if (value.settings !== undefined) return { setting: { who: value.who, settings: value.settings } }
  const {
    bench,
    case: name,
    who,
    value: perSecond,
    others = {},
  } = value as Omit<Measured, 'others'> & Partial<Measured>
  return { measured: { bench, case: name, who, value: perSecond, others } }
}

/** The measurements by case. */
export function casesOf(results: Results, bench: Measured['bench']) {
  const all = results.measured.filter((one) => one.bench === bench)
  const names = [...new Set(all.map((one) => one.case))]
  return names.map((name) => ({ name, measured: all.filter((one) => one.case === name) }))
}

/** The processes whose CPU time is known, and that time in µs. */
export const partsOf = ({ others }: Measured) =>
  Object.entries(others).flatMap(([key, value]) => {
    const name = /^cpuUs of (.+)/.exec(key)?.[1]
    return name === undefined ? [] : [{ name, value }]
  })
