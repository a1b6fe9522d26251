// A separate file, so that senders of jobs do not load the worker.

/** What a worker thread is asked to do. */
export type HashJob =
  | { kind: 'hash'; password: string; cost: number }
  | {
      kind: 'verify'
      hash: string
      password: string
      /** A hash to compare as well if the password is wrong, for its work. */
      elseAlso?: string
    }

/** Its answers come in the order of the jobs. */
export type HashAnswer = { result: string | boolean } | { error: unknown }
