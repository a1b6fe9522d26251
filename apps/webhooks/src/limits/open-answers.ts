import { AppError } from '@signet/errors'
import type { RequestContext } from '@signet/http'

const RETRY_AFTER_SECONDS = 1

/**
 * Limits how many large answers for one key may be in the memory of this process. A client that does not read keeps its answer there,
 * but a limit on requests per minute counts it only once.
 */
export class OpenAnswers {
  readonly #open = new Map<string, number>()

  constructor(private readonly max: number) {}

  /** Takes a permit until the response or its connection is closed, or throws `limited`. */
  admit(key: string, end: Pick<RequestContext['end'], 'isGone' | 'onceGone'>): void {
    const open = this.#open.get(key) ?? 0
    if (open >= this.max)
      throw new AppError('limited', 'too_many_requests', 'Read the responses to your other requests first', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    // The client has disconnected, so the request ends before it is handled, and nothing would return the permit.
    if (end.isGone) return
    this.#open.set(key, open + 1)
    end.onceGone(() => this.#release(key))
  }

  #release(key: string): void {
    const left = (this.#open.get(key) ?? 0) - 1
    if (left > 0) this.#open.set(key, left)
    else this.#open.delete(key)
  }
}
