import { FairQueue } from '@signet/db/fair-queue'
import { AppError } from '@signet/errors'
import { route, type RequestContext, type Route, type RouteSpec } from '@signet/http'
import type { Request } from 'express'
import type { ServiceCaller } from '../api/service-caller.js'
import { MAX_BODY_BYTES, SMALL_BODY_BYTES } from './body-sizes.js'

/** Larger than nearly every transcript. What is larger waits apart, so that no import makes a single notice wait. */
const HUGE_BODY_BYTES = 1024 * 1024
/** Of huge bodies, and of the other large ones: two of the largest, or hundreds of ordinary transcripts. */
const WINDOW_BYTES = 2 * MAX_BODY_BYTES
/** Leaves most of the time of a request for the request itself. */
const WAIT_MS = 10_000

export type BodyAdmissionOptions = { windowBytes?: number; waitMs?: number }
type End = Pick<RequestContext['end'], 'isGone' | 'onceGone'>

/**
 * Bounds the memory that large bodies take together, from before they are read until their handling has ended: also when their client
 * is gone by then. What finds no room is not read yet, callers by turns, and is refused after a while. Small bodies never wait.
 */
export class BodyAdmission {
  readonly #large: Window
  readonly #huge: Window
  readonly #taken = new WeakMap<End, Taken>()

  constructor({ windowBytes = WINDOW_BYTES, waitMs = WAIT_MS }: BodyAdmissionOptions = {}) {
    this.#large = new Window(windowBytes, waitMs)
    this.#huge = new Window(windowBytes, waitMs)
  }

  /** A route whose bodies are bounded. Its handler ends when it needs the body no more. */
  route(spec: RouteSpec<ServiceCaller, Buffer>): Route {
    return route<ServiceCaller, Buffer>({
      ...spec,
      guard: async (input) => {
        await spec.guard?.(input)
        await this.admit(input.req, input.context.end, input.caller.name)
      },
      handle: (input) =>
        this.whileHandled(input.context.end, input.body.length, async () => spec.handle(input)),
    })
  }

  /** Before the body is read. Resolves when there is room for it, or throws `unavailable`. */
  async admit(req: Pick<Request, 'headers'>, end: End, share: string): Promise<void> {
    const bytes = bytesAtMost(req)
    // If the client has disconnected, nothing would release them.
    if (bytes <= SMALL_BODY_BYTES || end.isGone) return
    const window = bytes > HUGE_BODY_BYTES ? this.#huge : this.#large
    const taken = await window.take(bytes, share, end)
    if (end.isGone) return taken.release()
    this.#taken.set(end, taken)
    end.onceGone(() => taken.release())
  }

  async whileHandled<Result>(end: End, bytes: number, handle: () => Promise<Result>): Promise<Result> {
    const taken = this.#taken.get(end)
    taken?.share(bytes)
    try {
      return await handle()
    } finally {
      taken?.release()
    }
  }
}

/** A part of a window, with as many users as have not released it. */
class Taken {
  #users = 1

  constructor(
    private bytes: number,
    private readonly giveBack: (bytes: number) => void,
  ) {}

  /** Adds a user, who knows how large the body is: it may have been declared as any size. */
  share(bytes: number): void {
    this.#users += 1
    this.giveBack(this.bytes - bytes)
    this.bytes = bytes
  }

  release(): void {
    this.#users -= 1
    if (this.#users === 0) this.giveBack(this.bytes)
  }
}

type Waiting = { bytes: number; start: () => void }

class Window {
  #free: number
  readonly #waiting = new FairQueue<Waiting>()

  constructor(
    bytes: number,
    private readonly waitMs: number,
  ) {
    this.#free = bytes
  }

  take(bytes: number, share: string, end: End): Promise<Taken> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => leave(), this.waitMs)
      const waiting = {
        bytes,
        start: () => {
          clearTimeout(timer)
          resolve(new Taken(bytes, (given) => this.#giveBack(given)))
        },
      }
      const leave = () => {
        clearTimeout(timer)
        this.#waiting.remove(share, waiting)
        reject(tooManyAtOnce())
        this.#next()
      }
      end.onceGone(leave)
      this.#waiting.push(share, waiting)
      this.#next()
    })
  }

  #giveBack(bytes: number): void {
    this.#free += bytes
    this.#next()
  }

  /** None overtakes one that needs more room; otherwise a stream of small ones could keep it waiting forever. */
  #next(): void {
    const started = this.#waiting.take(({ bytes }) => {
      if (bytes > this.#free) return 'stop'
      this.#free -= bytes
      return 'take'
    })
    for (const { start } of started) start()
  }
}

const tooManyAtOnce = () =>
  new AppError('unavailable', 'unavailable', 'Too many large bodies at once, try again later', {
    retryAfterSeconds: 5,
  })

/** Without a length, or compressed, a body may turn out to be any size; one that is too long is refused and never read. */
function bytesAtMost({ headers }: Pick<Request, 'headers'>): number {
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined)
    return MAX_BODY_BYTES
  return Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES)
}
