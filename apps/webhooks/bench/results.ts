const round = (number: number) => Math.round(number * 1000) / 1000

export type Result = {
  bench: string
  case: string
  value: number
  unit: string
  ratio: number
  /** For the ratio, at least or at most; a text when it is for something else. */
  goal: number | string
  ok: boolean
}

/** One JSON line; a missed goal makes the program fail. */
export function report({ value, ratio, ...result }: Result): void {
  const { bench, case: name, unit, goal, ok } = result
  console.log(JSON.stringify({ bench, case: name, value: round(value), unit, ratio: round(ratio), goal, ok }))
  if (!ok) process.exitCode = 1
}
