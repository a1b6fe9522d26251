import { failureWordOf, type SendResult } from '@signet/webhook-core'
import { type Dispatcher } from 'undici'

export type Post = {
  url: URL
  headers: Readonly<Record<string, string>>
  body: Buffer
}

export type Exchange = {
  /** Settles within the time limit, never rejects. */
  answered: Promise<SendResult>
  /** Settles when the connection is free again or gone; soon after the answer, but not before the body is dealt with. */
  closed: Promise<void>
}

/** More of an answer's body than this is not worth a connection: it is closed instead of read (contract F.5). */
const MAX_ANSWER_BYTES = 16 * 1024

/**
 * One POST with one time limit over all of it: resolve, connect, TLS, send, status line. The body of the answer is
 * drained, within the same limit and 16 KiB, only so that the connection can be used again; nothing waits for it.
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

class TimeIsUp extends Error {}
class EnoughRead extends Error {}

class ExchangeHandler implements Dispatcher.DispatchHandler, Exchange {
  readonly answered: Promise<SendResult>
  readonly closed: Promise<void>
  private answer!: (result: SendResult) => void
  private close!: () => void
  private controller: Dispatcher.DispatchController | undefined
  private isTimeUp = false
  private bytesRead = 0
  private readonly timer: NodeJS.Timeout

  constructor(timeoutMs: number) {
    this.answered = new Promise((resolve) => (this.answer = resolve))
    this.closed = new Promise((resolve) => (this.close = resolve))
    // One turn later, so that an answer which is already in the socket is not called late because we were busy.
    this.timer = setTimeout(() => setImmediate(() => this.timeIsUp()), timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isTimeUp) controller.abort(new TimeIsUp())
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    // 102 and 103 announce the answer; 101 would be one, had we asked for another protocol.
    if (status > 101 && status < 200) return
    this.answer({ kind: 'answered', status })
    if (status === 101) this.controller?.abort(new EnoughRead())
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bytesRead += chunk.byteLength
    if (this.bytesRead > MAX_ANSWER_BYTES) controller.abort(new EnoughRead())
  }

  onResponseEnd(): void {
    this.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: unknown): void {
    this.answer({ kind: 'failed', error: error instanceof TimeIsUp ? 'timeout' : failureWordOf(error) })
    this.end()
  }

  /** Also when there is no connection yet, which nobody could abort. */
  private timeIsUp(): void {
    this.isTimeUp = true
    this.answer({ kind: 'failed', error: 'timeout' })
    this.controller?.abort(new TimeIsUp())
    this.end()
  }

  private end(): void {
    clearTimeout(this.timer)
    // The pool takes the connection back a moment after it told us that the answer is complete.
    setImmediate(this.close)
  }
}
