/** Bodies up to here are parsed at once, in about a millisecond. Larger ones go to a thread. */
export const SMALL_BODY_BYTES = 65_536
/** Maximum size of a body (docs/specification.md#internal-api). */
export const MAX_BODY_BYTES = 32 * 1024 * 1024
