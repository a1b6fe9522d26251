/** 1 MiB, measured on the whole serialized envelope in UTF-8 (apps/webhooks/docs/specification.md#body-size). */
export const PAYLOAD_TARGET_BYTES = 1_048_576

/**
 * Limit for all samples of one response. Ten events of the target size fit. Summaries are never cut, so an event can be much
 * larger, and every caller would hold ten of those in memory.
 */
export const SAMPLES_TARGET_BYTES = 16 * PAYLOAD_TARGET_BYTES
