// In a separate file, so that senders of jobs do not load the worker.

/** The decoy is only compared because it takes time: after a hash that the password does not match, or if there is no hash. */
export type Comparison = { hash?: string; decoy?: string }

/** A job of a worker thread. */
export type HashJob =
  | { kind: 'hash'; password: string; cost: number }
  | { kind: 'verify'; password: string; comparison: Comparison }

/** A worker answers in the order of the jobs. */
export type HashAnswer = { result: string | boolean } | { error: unknown }
