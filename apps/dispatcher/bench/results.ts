export type Result = {
  case: string
  value: number
  unit: string
  ratio?: number
  goal?: string
  ok?: boolean
  /** Which of those that are compared it is of; left out of a ratio, and where there is only one. */
  who?: string
  /** Further quantities of the same run. */
  others?: Readonly<Record<string, number>>
}

/** Of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  const upper = sorted[Math.floor(half)] ?? NaN
  return Number.isInteger(half) ? ((sorted[half - 1] ?? NaN) + upper) / 2 : upper
}

/** The value below which this part of all values lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}

const round = (number: number) => Math.round(number * 1000) / 1000

/** One JSON line. */
export function report(
  { case: name, who, value, unit, ratio, goal, ok, others }: Result,
  bench: 'dispatch' | 'pipeline' | 'soak' = 'dispatch',
): void {
  const rounded = { value: round(value), unit, ratio: ratio === undefined ? undefined : round(ratio) }
  console.log(JSON.stringify({ bench, case: name, who, ...rounded, goal, ok, others }))
}

/** A result that has to be at least, or at most, a part of another one. */
export const atLeast = (ratio: number, goal: number) => ({ ratio, goal: `>= ${goal}`, ok: ratio >= goal })
export const atMost = (ratio: number, goal: number) => ({ ratio, goal: `<= ${goal}`, ok: ratio <= goal })
