/** Number of consecutive failed attempts that disables an endpoint. */
export const FAILURES_TO_DISABLE = 20

/**
 * Numbers of consecutive failed attempts at which the owner of an endpoint is warned. When it is disabled, the owner gets a last
 * message.
 */
export const FAILURES_TO_WARN = [10, 15] as const
