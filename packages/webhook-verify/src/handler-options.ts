import type { WebhookVerificationError } from './errors.js'
import type { Secret } from './secret.js'
import type { VerifyOptions } from './verify.js'

export type HandlerOptions = VerifyOptions & {
  secret: Secret
  /** Longer bodies are answered 413. Summaries are never cut, so leave room. Default 32 MiB. */
  maxBytes?: number
  /** Called for every delivery that is answered 400, to log or count `error.code`: the sender keeps no answers. */
  onRefusal?: (error: WebhookVerificationError) => void
}

export const DEFAULT_MAX_BYTES = 32 * 1024 * 1024
