/** What a worker thread is asked to do. In a file of its own: who sends jobs must not load the worker. */
export type HashJob =
  { kind: 'hash'; password: string; cost: number } | { kind: 'verify'; hash: string; password: string }
