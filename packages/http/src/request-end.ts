import { AppError } from '@signet/errors'
import type { Response } from 'express'
import { isGone, onceGone } from './gone.js'

/** The abort signal of a request, created on first use: it is not cheap, and most handlers never need it. */
export class RequestEnd {
  #controller: AbortController | undefined
  #aborted = false

  constructor(private readonly res: Response) {}

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    const { res } = this
    const onClose = () => {
      // After a complete response nobody listens any more.
      if (!res.writableFinished) controller.abort()
    }
    if (this.#aborted) controller.abort()
    else if (isGone(res)) onClose()
    else onceGone(res, onClose)
    return controller.signal
  }

  /** Whether the time is over or the client went away; needs no signal. */
  get isOver(): boolean {
    return this.#aborted || (isGone(this.res) && !this.res.writableFinished)
  }

  abort(): void {
    this.#aborted = true
    this.#controller?.abort()
  }
}

export const requestTimeout = (): AppError =>
  new AppError('timeout', 'request_timeout', 'The request took too long')
