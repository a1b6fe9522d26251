// Shared by the benchmarks of the apps: runs loads in turns, takes the median of their results, and prints one JSON line for each.
import { parentOf } from './process-costs.js'
import { waitFor } from './wait-for.js'

export type Result = {
  case: string
  value: number
  unit: string
  ratio?: number
  /** The bound on `ratio`, if there is one. */
  goal?: string
  ok?: boolean
  /** The server that was measured; absent for a ratio, and if only one server is measured. */
  who?: string
  /** Other values measured in the same run. */
  others?: Readonly<Record<string, number>>
}

/** Sends one request or statement, and throws unless the answer is good. `worker` numbers the concurrent senders. */
export type Shoot = (worker: number) => Promise<void>
/** `cpuUs` is the processor time that one request cost the server's process, in microseconds, where it was measured. */
export type Measured = { requests: number; perSecond: number; p50Ms: number; p99Ms: number; cpuUs?: number }
export type Pace = { concurrency: number; seconds: number }

/** The value of the command-line argument `<name>=<value>`. */
export const option = (name: string): string | undefined =>
  process.argv.find((argument) => argument.startsWith(`${name}=`))?.slice(name.length + 1)

/** Whether the command line asks for this part. It asks for all parts if it names none. */
export function wants(part: string): boolean {
  const named = process.argv.slice(2).filter(isName)
  return named.length === 0 || named.includes(part)
}

const isName = (word: string, index: number, words: readonly string[]): boolean =>
  !word.startsWith('-') && !word.includes('=') && !words[index - 1]?.startsWith('--')

/** The number of measured rounds; a warm-up round precedes them. */
export const rounds = (fallback = 5): number => Number(option('rounds') ?? fallback)

/** The value in the middle; for an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  const upper = sorted[Math.floor(half)] ?? NaN
  return Number.isInteger(half) ? ((sorted[half - 1] ?? NaN) + upper) / 2 : upper
}

/** The value below which the fraction `part` of all values lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}

export const rounded = (value: number): number => Math.round(value * 1000) / 1000

/** Prints one JSON line for each result. With `failsOnMiss`, a missed goal makes the program fail. */
export function reporter(bench: string, { failsOnMiss = false } = {}): (result: Result) => void {
  return ({ case: name, who, value, unit, ratio, goal, ok, others }) => {
    const numbers = { value: rounded(value), unit, ratio: ratio === undefined ? undefined : rounded(ratio) }
    console.log(JSON.stringify({ bench, case: name, who, ...numbers, goal, ok, others }))
    if (failsOnMiss && ok === false) process.exitCode = 1
  }
}

export type Goal = Required<Pick<Result, 'ratio' | 'goal' | 'ok'>>

/** A result that must reach, or stay below, a fraction of another one. */
export const atLeast = (ratio: number, goal: number): Goal => ({
  ratio,
  goal: `>= ${goal}`,
  ok: ratio >= goal,
})
export const atMost = (ratio: number, goal: number): Goal => ({
  ratio,
  goal: `<= ${goal}`,
  ok: ratio <= goal,
})

/** Sends `concurrency` requests at a time for `seconds`, which the command-line argument `seconds=` overrides. */
export async function measure(shoot: Shoot, { concurrency, seconds }: Pace): Promise<Measured> {
  const times: number[] = []
  const startedAt = performance.now()
  const until = startedAt + Number(option('seconds') ?? seconds) * 1000
  await Promise.all(
    Array.from({ length: concurrency }, async (_, worker) => {
      for (let sentAt = performance.now(); sentAt < until; sentAt = performance.now()) {
        await shoot(worker)
        times.push(performance.now() - sentAt)
      }
    }),
  )
  const elapsed = (performance.now() - startedAt) / 1000
  return {
    requests: times.length,
    perSecond: times.length / elapsed,
    p50Ms: median(times),
    p99Ms: quantile(times, 0.99),
  }
}

/** Runs a load, and adds the CPU time that it cost the server. */
export const withCpu = (server: { cpuMs(): number }, load: () => Promise<Measured>) => async () => {
  const before = server.cpuMs()
  const measured = await load()
  return { ...measured, cpuUs: (1000 * (server.cpuMs() - before)) / measured.requests }
}

type Loads<Run> = readonly (() => Promise<Run>)[]

/**
 * Runs the loads in turns, so that all run under the same conditions, and discards a first round as warm-up. Returns a list for each load.
 */
export async function inTurns<Run>(loads: Loads<Run>, count = rounds()): Promise<Run[][]> {
  const seen = loads.map((): Run[] => [])
  for (let round = 0; round <= count; round += 1)
    for (const [index, load] of loads.entries()) {
      const result = await load()
      if (round > 0) seen[index]?.push(result)
    }
  return seen
}

/** Runs the loads in turns, and returns the median results of each. */
export async function compare<const All extends Loads<Measured>>(
  ...loads: All
): Promise<{ [Index in keyof All]: Measured }> {
  return (await inTurns(loads)).map(middle) as { [Index in keyof All]: Measured }
}

export const middle = (results: readonly Measured[]): Measured => ({
  requests: median(results.map(({ requests }) => requests)),
  cpuUs: median(results.map(({ cpuUs }) => cpuUs ?? NaN)),
  perSecond: median(results.map(({ perSecond }) => perSecond)),
  p50Ms: median(results.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
})

/** The same as in `@signet/db`, on which this package does not depend. */
type Queryable = { query<R extends object>(text: string): Promise<{ rows: R[] }> }

/** The process of the PostgreSQL server, whose children are its backends. */
export async function postmasterOf(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  return parentOf(rows[0]?.pid ?? 0)
}

/** Waits until a started server answers at `url`; throws if its process ends before that. */
export async function untilAnswers(url: string, server: { readonly exitCode: number | null }): Promise<void> {
  const isUp = () =>
    fetch(url).then(
      // Any answer below 500 will do: a server that answers only what is measured has no health page.
      ({ status }) => status < 500,
      () => false,
    )
  await waitFor(async () => server.exitCode !== null || (await isUp()), { describe: `an answer from ${url}` })
  if (server.exitCode !== null) throw new Error(`the server of ${url} ended while starting`)
}
