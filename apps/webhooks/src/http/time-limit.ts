/** Limits a request and each of its statements, so that abandoned work does not keep the database busy. */
export const REQUEST_TIMEOUT_MS = 30_000
