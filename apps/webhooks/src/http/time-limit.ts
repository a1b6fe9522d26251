/** For one request, and for each statement it sends: what nobody waits for any more should not keep the database busy. */
export const REQUEST_TIMEOUT_MS = 30_000
