import type { WorkerOptions } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'

export type WorkerConnection = { connection: Redis | Cluster; prefix: string }

/**
 * Another worker takes over a lost worker's job once its lock has expired and the next check for stalled jobs has run: at
 * most 13 s later. Locks are renewed every 5 s, so only a process that blocks for longer loses one. A job is never dropped
 * for stalling too often: the table decides when a delivery ends.
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
  // After a Redis error. The default of 15 s would prolong every outage.
  runRetryDelay: 500,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
})

/**
 * A BullMQ worker fetches jobs one by one until it reaches its concurrency or the queue is empty, and only then starts the
 * first: the higher its concurrency, the longer jobs wait in a steady stream. Several small workers fetch side by side, in
 * the same round trips.
 */
const JOBS_PER_WORKER = 25

/** Splits `concurrency` into the concurrency of each worker of a queue. */
export function splitConcurrency(concurrency: number): number[] {
  const workers = Math.ceil(concurrency / JOBS_PER_WORKER)
  return Array.from({ length: workers }, (_, index) => Math.floor((concurrency + index) / workers))
}

/** Delay after the nth consecutive failure on our side: 1 s, doubling up to a minute. */
export const internalFailureDelayMs = (failures: number): number =>
  Math.min(1000 * 2 ** Math.min(failures - 1, 10), 60_000)
