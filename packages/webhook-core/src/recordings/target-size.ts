/** 1 MiB, measured on the whole serialized envelope in UTF-8 (apps/webhooks/docs/specification.md#body-size). */
export const PAYLOAD_TARGET_BYTES = 1_048_576
