import type { WebhookVerificationError } from './errors.js'
import type { Secret } from './secret.js'
import type { VerifyOptions } from './verify.js'

export type HandlerOptions = VerifyOptions & {
  secret: Secret
  /** Maximum body size in bytes; longer bodies are answered with 413. Summaries are never cut, so leave room. Default 32 MiB. */
  maxBytes?: number
  /** Called for every delivery that is answered with 400, to log or count `error.code`: the sender does not keep answers. */
  onRefusal?: (error: WebhookVerificationError) => void
}

export const DEFAULT_MAX_BYTES = 32 * 1024 * 1024
