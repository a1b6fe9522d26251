import type { Dispatcher } from 'undici'
import { attemptFailureOf, type SendResult } from './attempt-failure.js'

export type Post = {
  url: URL
  headers: Readonly<Record<string, string>>
  body: Buffer
}

export type Exchange = {
  /** Settles within the time limit. Never rejects. */
  answered: Promise<SendResult>
  /** Settles once the body is drained and the connection is reusable or closed, soon after the answer. */
  closed: Promise<void>
}

/** Reading more of a response body costs more than a new connection: the connection is closed instead. */
const MAX_ANSWER_BYTES = 16 * 1024

/**
 * One POST with a single time limit over all of it: resolve, connect, TLS, send, status line. The response body is drained,
 * within the same limit and 16 KiB, only to make the connection reusable. Nothing waits for it.
 */
export function post(dispatcher: Dispatcher, { url, headers, body }: Post, timeoutMs: number): Exchange {
  const handler = new ExchangeHandler(timeoutMs)
  try {
    dispatcher.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method: 'POST', headers, body },
      handler,
    )
  } catch (error) {
    handler.fail(error)
  }
  return handler
}

class DeadlineExceeded extends Error {}
class BodyLimitReached extends Error {}

class ExchangeHandler implements Dispatcher.DispatchHandler, Exchange {
  readonly answered: Promise<SendResult>
  readonly closed: Promise<void>
  #answer!: (result: SendResult) => void
  #close!: () => void
  #controller: Dispatcher.DispatchController | undefined
  #isTimeUp = false
  #bytesRead = 0
  readonly #timer: NodeJS.Timeout

  constructor(timeoutMs: number) {
    this.answered = new Promise((resolve) => (this.#answer = resolve))
    this.closed = new Promise((resolve) => (this.#close = resolve))
    // One turn of the event loop later: a response that is already in the socket is not late because we were busy.
    this.#timer = setTimeout(() => setImmediate(() => this.#onDeadline()), timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isTimeUp) controller.abort(new DeadlineExceeded())
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    // 102 and 103 precede the final response. 101 is final, but we never ask to switch protocols.
    if (status > 101 && status < 200) return
    this.#answer({ kind: 'answered', status })
    if (status === 101) this.#controller?.abort(new BodyLimitReached())
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytesRead += chunk.byteLength
    if (this.#bytesRead > MAX_ANSWER_BYTES) controller.abort(new BodyLimitReached())
  }

  onResponseEnd(): void {
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: unknown): void {
    this.#answer({
      kind: 'failed',
      error: error instanceof DeadlineExceeded ? 'timeout' : attemptFailureOf(error),
    })
    this.#end()
  }

  /** Also ends a request that has no connection yet, which cannot be aborted. */
  #onDeadline(): void {
    this.#isTimeUp = true
    this.#answer({ kind: 'failed', error: 'timeout' })
    this.#controller?.abort(new DeadlineExceeded())
    this.#end()
  }

  #end(): void {
    clearTimeout(this.#timer)
    // The pool takes the connection back just after it reports the end of the response.
    setImmediate(this.#close)
  }
}
