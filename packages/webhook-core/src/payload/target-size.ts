/** About 1 MiB (contract A6, F.4), measured on the whole serialised envelope in UTF-8. */
export const PAYLOAD_TARGET_BYTES = 1_048_576
