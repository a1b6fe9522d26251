/** About 1 MiB (contract A6, F.4), measured on the whole serialised envelope in UTF-8. */
export const PAYLOAD_TARGET_BYTES = 1_048_576

/**
 * What all samples of one answer may have together: ten events of the target size fit. Summaries are never cut, so an event
 * may be much larger, and ten of those would be held in memory for everybody who asks.
 */
export const SAMPLES_TARGET_BYTES = 16 * PAYLOAD_TARGET_BYTES
