/** Bodies up to this size are parsed on the event loop, in about a millisecond. Larger ones are parsed in a thread. */
export const SMALL_BODY_BYTES = 65_536
/** Maximum size of a body (docs/specification.md#internal-api). */
export const MAX_BODY_BYTES = 32 * 1024 * 1024
