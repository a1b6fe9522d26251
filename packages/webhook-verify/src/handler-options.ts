import { type Secret, type VerifyOptions } from './verify.js'

export type HandlerOptions = VerifyOptions & {
  secret: Secret
  /** Longer bodies are answered 413 unread. Summaries are never cut, so leave room. Default 32 MiB. */
  maxBytes?: number
}

export const DEFAULT_MAX_BYTES = 32 * 1024 * 1024
