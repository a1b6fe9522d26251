/** Consecutive failed attempts that disable an endpoint. */
export const FAILURES_TO_DISABLE = 20

/** Consecutive failed attempts at which the owner of an endpoint is warned; being disabled is the last warning. */
export const FAILURES_TO_WARN = [10, 15] as const
