// A separate file, so that senders of jobs do not load the worker.

/** The decoy is compared for its work alone, after a hash that the password does not match, or where there is none. */
export type Comparison = { hash?: string; decoy?: string }

/** What a worker thread is asked to do. */
export type HashJob =
  | { kind: 'hash'; password: string; cost: number }
  | { kind: 'verify'; password: string; comparison: Comparison }

/** Its answers come in the order of the jobs. */
export type HashAnswer = { result: string | boolean } | { error: unknown }
