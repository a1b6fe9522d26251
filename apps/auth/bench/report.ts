export type Goal = { ratio: number; goal: number; ok: boolean }

/** One JSON line for each case; a goal that is missed fails the run. */
export function report(name: string, value: number, unit: string, goal?: Goal, cpuUs?: number): void {
  const round = (number: number) => Math.round(number * 1000) / 1000
  const met = goal && { ratio: round(goal.ratio), goal: goal.goal, ok: goal.ok }
  const cpu = cpuUs !== undefined && Number.isFinite(cpuUs) && { cpu_us: Math.round(cpuUs) }
  console.log(JSON.stringify({ bench: 'auth', case: name, value: round(value), unit, ...cpu, ...met }))
  if (goal && !goal.ok) process.exitCode = 1
}

export const atLeast = (ratio: number, goal: number): Goal => ({ ratio, goal, ok: ratio >= goal })
export const atMost = (ratio: number, goal: number): Goal => ({ ratio, goal, ok: ratio <= goal })

export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)
