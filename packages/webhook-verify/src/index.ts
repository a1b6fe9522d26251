export * from './errors.js'
export type * from './events.js'
export {
  DELIVERY_HEADER,
  EVENT_HEADER,
  SIGNATURE_HEADER,
  TIMESTAMP_HEADER,
  type HeaderSource,
} from './headers.js'
export { secretsOf, type Secret } from './secret.js'
export { DEFAULT_TOLERANCE_SECONDS, verify, type RawBody, type VerifyOptions } from './verify.js'
