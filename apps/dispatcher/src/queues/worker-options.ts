import { type WorkerOptions } from 'bullmq'
import { type Cluster, type Redis } from 'ioredis'

export type WorkerConnection = { connection: Redis | Cluster; prefix: string }

/**
 * A lost worker's job is taken over after its lock ran out and the next look for stalled jobs: at most 13 s. A lock is
 * renewed every 5 s, so only a process that stands still for longer loses one. How often a job was taken over is no reason
 * to drop it: the table decides when a delivery ends.
 */
export const workerOptions = (
  { connection, prefix }: WorkerConnection,
  concurrency: number,
): WorkerOptions => ({
  connection,
  prefix,
  concurrency,
  autorun: false,
  lockDuration: 10_000,
  stalledInterval: 3_000,
  maxStalledCount: 2 ** 31 - 1,
  // After an error of the connection to Redis; the default of 15 s would be most of an outage's aftermath.
  runRetryDelay: 500,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
})

/**
 * A BullMQ worker fetches jobs one after the other until it has its fill or the queue is empty, and begins with the first
 * of them only then: the more it may have in hand, the longer jobs wait in a stream that never quite ends. Several with few
 * each fetch side by side, in the same round trips.
 */
const JOBS_PER_WORKER = 25

/** How many jobs each worker of a queue has in hand, so that all of them together have `jobsInHand`. */
export function sharedOut(jobsInHand: number): number[] {
  const workers = Math.ceil(jobsInHand / JOBS_PER_WORKER)
  return Array.from({ length: workers }, (_, index) => Math.floor((jobsInHand + index) / workers))
}

/** Waiting time after the nth failure on our own side in a row: 1 s, doubling to a minute. */
export const ownFailureDelayMs = (failures: number): number =>
  Math.min(1000 * 2 ** Math.min(failures - 1, 10), 60_000)
