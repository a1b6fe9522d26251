/**
 * CPU time of a step for a batch of n events: `fixed` + n × `each`, in ms. Both follow from two measurements of infra/sizing.md: the
 * time per event in a burst, where batches hold 32, and at 200 a second, where they hold two.
 */
export type Cost = { fixed: number; each: number }

const BURST_BATCH = 32
const TRICKLE_BATCH = 2

function costOf(inBurst: number, inTrickle: number): Cost {
  const fixed = (inTrickle - inBurst) / (1 / TRICKLE_BATCH - 1 / BURST_BATCH)
  return { fixed, each: inBurst - fixed / BURST_BATCH }
}

/** Time per event in ms, in a burst and at 200 a second (the middle of each range there). */
export const COSTS = {
  api: costOf(0.55, 2.2),
  dispatcher: costOf(0.46, 2.3),
  postgres: costOf(0.46, 1.9),
  redis: costOf(0.042, 0.4),
  /** The generator and the receiver of the measurements, if they share the machine. */
  outside: { fixed: 0, each: 0.3 },
}

/** Minimum time between two commits of the API in a steady stream (apps/dispatcher/docs/bench.md). */
export const COMMIT_GAP_MS = 10
export const LARGEST_BATCH = 32

export type Machine = { cores: number }

/** Which machine each process runs on. Processes with several entries share their work. */
export type Layout = {
  name: string
  machines: readonly Machine[]
  api: readonly number[]
  dispatcher: readonly number[]
  postgres: number
  redis: number
  /** The machine that generates the load and receives deliveries; omitted if neither runs on one of these machines. */
  outside?: number
  /** How long the disk takes to make one commit, or a group of commits, durable. */
  flushMs: number
}

export const coresOf = ({ machines }: Layout) => machines.reduce((sum, { cores }) => sum + cores, 0)

const apart = (name: string, processes: number, postgresCores: number): Layout => ({
  name,
  // One machine with two cores for each process of an app: one for its thread, and one for its helpers and the kernel.
  machines: [
    ...Array.from({ length: 2 * processes }, () => ({ cores: 2 })),
    { cores: postgresCores },
    { cores: 2 },
  ],
  api: Array.from({ length: processes }, (_, index) => index),
  dispatcher: Array.from({ length: processes }, (_, index) => processes + index),
  postgres: 2 * processes,
  redis: 2 * processes + 1,
  flushMs: 1,
})

/** The machine of the measurements, to compare the model with them. */
export const MEASURED: Layout = {
  name: 'everything on 2 cores',
  machines: [{ cores: 2 }],
  ...{ api: [0], dispatcher: [0], postgres: 0, redis: 0, outside: 0 },
  flushMs: 4,
}
export const LAYOUTS: readonly Layout[] = [
  MEASURED,
  { ...MEASURED, name: 'everything on 8 cores', machines: [{ cores: 8 }], flushMs: 1 },
  apart('one process of each app, PostgreSQL on 2 cores', 1, 2),
  apart('two of each, PostgreSQL on 2 cores', 2, 2),
  apart('four of each, PostgreSQL on 2 cores', 4, 2),
  apart('four of each, PostgreSQL on 4 cores', 4, 4),
  { ...apart('the same with a slow disk', 4, 4), flushMs: 20 },
]
