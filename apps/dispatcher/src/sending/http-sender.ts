import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { observeConnection, peerOf, takeConnectionPhases, type ConnectionPhases } from '@signet/address-guard'
import type { TlsProblem } from '@signet/webhook-core'
import type { Dispatcher } from 'undici'
import { attemptFailureOf, type SendResult } from './attempt-failure.js'
import { ProxyFailedError } from './egress-proxy.js'
import { Excerpt } from './printable.js'
import { expectResponse } from './response-bytes.js'
import { observeRequestSocket } from './request-socket.js'
import { tlsProblemOf } from './tls-problem.js'

export type Post = {
  url: URL
  headers: Readonly<Record<string, string>>
  body: Buffer
}

/**
 * How many milliseconds each completed phase took, where the request went, and what was wrong with the receiver's TLS. A reused
 * connection has no dns, connect and tls.
 */
export type ExchangeFacts = ConnectionPhases & { first_byte?: number; tls_problem?: TlsProblem }

export type Exchange = {
  /** Settles within the time limit. Never rejects. */
  answered: Promise<SendResult>
  /** Settles once the body is drained and the connection is reusable or closed, soon after the answer. */
  closed: Promise<void>
  /** What is known by now. */
  facts(): ExchangeFacts
  /** The beginning of the response body, as received so far. */
  excerpt(): string
  /** Settles when the excerpt will not grow anymore. */
  excerpted: Promise<void>
}

/** Reading a larger response body costs more than a new connection, so the connection is closed instead. */
export const MAX_ANSWER_BYTES = 16 * 1024

/**
 * One POST with a single time limit over all of it: resolve, connect, TLS, send, status line and headers. The response body is drained,
 * within the same limit and 16 KiB, only to make the connection reusable. Nothing waits for it.
 */
export function post(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  { url, headers, body }: Post,
  timeoutMs: number,
): Exchange {
  const handler = new ExchangeHandler(timeoutMs)
  try {
    observeConnection(
      (phases) => handler.opening(phases),
      () =>
        dispatcher.dispatch(
          { origin: url.origin, path: url.pathname + url.search, method: 'POST', headers, body },
          handler,
        ),
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
  readonly excerpted: Promise<void>
  #excerpted!: () => void
  readonly #excerpt = new Excerpt()
  readonly #facts: ExchangeFacts = {}
  #opening: ConnectionPhases = {}
  #sentAt = 0
  #answer!: (result: SendResult) => void
  #close!: () => void
  #controller: Dispatcher.DispatchController | undefined
  /** From when the request is written until the exchange has ended. Later the connection may carry another one. */
  #socket: Socket | undefined
  #isTimeUp = false
  #bytesRead = 0
  readonly #timer: NodeJS.Timeout

  constructor(timeoutMs: number) {
    this.answered = new Promise((resolve) => (this.#answer = resolve))
    this.closed = new Promise((resolve) => (this.#close = resolve))
    this.excerpted = new Promise((resolve) => (this.#excerpted = resolve))
    // Waits one more turn of the event loop, so that a response already in the socket is not late because we were busy.
    this.#timer = setTimeout(() => setImmediate(() => this.#onDeadline()), timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isTimeUp) controller.abort(new DeadlineExceeded())
    else observeRequestSocket(this)
  }

  /** Phases of a connection that may still be opening when the time limit is reached. */
  opening(phases: ConnectionPhases): void {
    this.#opening = phases
  }

  onRequestSocket(socket: Socket): void {
    this.#socket = socket
    expectResponse(socket)
    this.#sentAt = performance.now()
    Object.assign(this.#facts, takeConnectionPhases(socket), { peer: peerOf(socket) })
  }

  facts(): ExchangeFacts {
    return this.#facts
  }

  excerpt(): string {
    return this.#excerpt.toString()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#excerpt.contentType = String(headers['content-type'] ?? '')
    this.#onStatus(status)
    if (status === 101) this.#giveUp(new BodyLimitReached())
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytesRead += chunk.byteLength
    this.#excerpt.add(chunk)
    if (this.#excerpt.isFull) this.#excerpted()
    if (this.#bytesRead > MAX_ANSWER_BYTES) this.#giveUp(new BodyLimitReached())
  }

  onResponseEnd(): void {
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: unknown): void {
    if (typeof error === 'object' && error !== null) Object.assign(this.#facts, takeConnectionPhases(error))
    if (error instanceof ProxyFailedError) this.#answer({ kind: 'unsent' })
    else this.#answerFailure(error)
    this.#end()
  }

  #answerFailure(error: unknown): void {
    const failure = error instanceof DeadlineExceeded ? 'timeout' : attemptFailureOf(error)
    if (failure === 'tls_error') this.#facts.tls_problem = tlsProblemOf(error)
    if (failure === 'http_101') this.#onStatus(101)
    else this.#answer({ kind: 'failed', error: failure })
  }

  #onStatus(status: number): void {
    if (this.#sentAt > 0) this.#facts.first_byte = performance.now() - this.#sentAt
    // The parser takes "HTTP/1.1 000", which is not a status (RFC 9110 section 15).
    this.#answer(status >= 100 ? { kind: 'answered', status } : { kind: 'failed', error: 'invalid_response' })
  }

  /** Also ends a request that has no connection yet, which cannot be aborted. */
  #onDeadline(): void {
    this.#isTimeUp = true
    if (this.#sentAt === 0) Object.assign(this.#facts, this.#opening)
    this.#answer({ kind: 'failed', error: 'timeout' })
    this.#giveUp(new DeadlineExceeded())
    this.#end()
  }

  /** Does not abort a request that was sent: `undici` would then open another connection, which nobody uses. */
  #giveUp(reason: Error): void {
    if (this.#socket) this.#socket.destroy(reason)
    else this.#controller?.abort(reason)
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#socket = undefined
    this.#excerpted()
    // The pool takes the connection back just after it reports the end of the response.
    setImmediate(this.#close)
  }
}
