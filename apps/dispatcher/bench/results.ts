export type Result = {
  case: string
  value: number
  unit: string
  ratio?: number
  goal?: string
  ok?: boolean
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The value below which this part of all values lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}

/** One JSON line. */
export function report({ case: name, value, unit, ratio, goal, ok }: Result): void {
  const round = (number: number) => Math.round(number * 1000) / 1000
  console.log(
    JSON.stringify({
      bench: 'dispatch',
      case: name,
      value: round(value),
      unit,
      ratio: ratio && round(ratio),
      goal,
      ok,
    }),
  )
}

/** A result that has to be at least, or at most, a part of another one. */
export const atLeast = (ratio: number, goal: number) => ({ ratio, goal: `>= ${goal}`, ok: ratio >= goal })
export const atMost = (ratio: number, goal: number) => ({ ratio, goal: `<= ${goal}`, ok: ratio <= goal })
