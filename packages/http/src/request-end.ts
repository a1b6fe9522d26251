import { AppError } from '@signet/errors'
import type { Response } from 'express'

/** The end of a request. The abort signal is created on first use, because creating it is slow and most handlers never need it. */
export class RequestEnd {
  #controller: AbortController | undefined
  #aborted = false
  /** Set while waiting for the client to send the body. */
  awaitsBody = false

  /** `report` receives errors that listeners throw. */
  constructor(
    private readonly res: Response,
    private readonly report: (error: unknown) => void,
  ) {}

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    const { res } = this
    const onClose = () => {
      // After a complete response there is nothing left to abort.
      if (!res.writableFinished) controller.abort()
    }
    if (this.#aborted) controller.abort()
    else if (this.isGone) onClose()
    else this.onceGone(onClose)
    return controller.signal
  }

  /** Whether the request has timed out or the client has disconnected. Does not create the signal. */
  get isOver(): boolean {
    return this.#aborted || (this.isGone && !this.res.writableFinished)
  }

  /**
   * Whether nobody reads the response anymore. The socket is checked too, because a response that is queued behind another one on its
   * connection is not closed when the connection ends.
   */
  get isGone(): boolean {
    return this.res.closed || this.res.req.socket.destroyed
  }

  /**
   * Calls `act` once, when the response or its connection is closed, whichever comes first. Errors of `act` are reported: if they were
   * thrown in a socket's listener, the process would end, and the other listeners would not run.
   */
  onceGone(act: () => void): void {
    const { res } = this
    const { socket } = res.req
    let isTold = false
    const gone = () => {
      // When a connection ends, it closes the response first and then still calls this listener.
      if (isTold) return
      isTold = true
      // Otherwise a keep-alive connection would collect a listener for each of its requests.
      res.off('close', gone)
      socket.off('close', gone)
      try {
        act()
      } catch (error) {
        this.report(error)
      }
    }
    // A client may queue any number of requests on one connection, so many listeners are not a leak to warn about.
    socket.setMaxListeners(0)
    res.once('close', gone)
    socket.once('close', gone)
  }

  abort(): void {
    this.#aborted = true
    this.#controller?.abort()
  }
}

/** The error blames the side that the request was waiting for. */
export const requestTimeout = ({ awaitsBody }: RequestEnd): AppError =>
  awaitsBody
    ? new AppError('late', 'request_timeout', 'The body of the request did not arrive in time')
    : new AppError('timeout', 'request_timeout', 'The request took too long')
