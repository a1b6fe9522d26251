import { FairQueue } from '@signet/db/fair-queue'
import { AppError } from '@signet/errors'
import { MAX_BODY_BYTES } from './body-sizes.js'

const MIB = 1024 * 1024
/** `spared` is the fraction of the memory that a class leaves to the classes before it. */
const CLASSES = [
  { maxBytes: MIB, spared: 0 },
  { maxBytes: 4 * MIB, spared: 1 / 24 },
  { maxBytes: MAX_BODY_BYTES, spared: 1 / 8 },
]
/** In addition to the reserve, which is as large as the largest body. */
const SHARED_BYTES = 96 * MIB
/** Short enough to leave most of the time of a request for the request itself. */
const WAIT_MS = 10_000
/** Shorter than the wait of others, so that a body that stalls does not cause any of them to be refused. */
const FINISH_MS = 5000

export type BodyMemoryOptions = { sharedBytes?: number; waitMs?: number; finishMs?: number }

type Growth = {
  /** The account, or the service, whose turn the body uses. */
  owner: string
  /** A lower bound of the size of the body. */
  atLeastBytes: number
  /** How many bytes have arrived. */
  arrivedBytes: number
  refuse: (error: Error) => void
}

/**
 * Memory for large bodies. Each owner has a share for each size class. A share may grow while it is smaller than the free memory, so
 * nobody can take everything, and nobody waits for larger bodies. Bodies whose share is full wait, and shares take turns. They also
 * take turns for the reserve, which has room for the rest of one body of any size. That body must then arrive soon. So neither bodies
 * that are all half read nor a body that stalls can block the others.
 */
export class BodyMemory {
  readonly #options: Required<BodyMemoryOptions>
  readonly #waiting = new FairQueue<Waiting>()
  readonly #shares = new Map<string, number>()
  #free: number
  #finishing: BodyCharge | undefined

  constructor({
    sharedBytes = SHARED_BYTES,
    waitMs = WAIT_MS,
    finishMs = FINISH_MS,
  }: BodyMemoryOptions = {}) {
    this.#options = { sharedBytes, waitMs, finishMs }
    this.#free = sharedBytes
  }

  /** Charges for what has arrived since the last call. Returns nothing if there is room, which is nearly always the case. */
  grow(charge: BodyCharge, { owner, atLeastBytes, arrivedBytes, refuse }: Growth): Promise<void> | undefined {
    const share = shareOf(owner, atLeastBytes)
    const bytes = arrivedBytes - charge.bytes
    charge.bytes = arrivedBytes
    if (charge === this.#finishing) return undefined
    if (!this.#hasRoom(share)) return this.#wait(charge, { share, bytes, refuse })
    this.#take(charge, share, bytes)
    return undefined
  }

  /** Tells that the body is complete. */
  arrived(charge: BodyCharge): void {
    clearTimeout(charge.finishTimer)
  }

  /** Releases the memory of a body that is no longer needed. */
  release(charge: BodyCharge): void {
    clearTimeout(charge.finishTimer)
    charge.leaveQueue?.()
    for (const [share, bytes] of charge.taken) this.#add(share, -bytes)
    charge.taken.clear()
    if (charge === this.#finishing) this.#finishing = undefined
    this.#next()
  }

  #wait(charge: BodyCharge, { share, bytes, refuse }: Omit<Waiting, 'start' | 'charge'>): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { charge, share, bytes, refuse, start: () => (over(), resolve()) }
      const leave = () => {
        over()
        this.#waiting.remove(share, waiting)
        reject(tooManyAtOnce())
      }
      const timer = setTimeout(leave, this.#options.waitMs)
      const over = () => {
        clearTimeout(timer)
        charge.leaveQueue = undefined
      }
      charge.leaveQueue = leave
      this.#waiting.push(share, waiting)
      this.#next()
    })
  }

  #next(): void {
    for (;;) {
      const waiting = this.#waiting.shift((share) => this.#hasRoom(share))
      if (waiting === undefined) break
      this.#take(waiting.charge, waiting.share, waiting.bytes)
      waiting.start()
    }
    if (this.#finishing === undefined) this.#finish(this.#waiting.shift())
  }

  #finish(waiting: Waiting | undefined): void {
    if (waiting === undefined) return
    const { charge, refuse, start } = waiting
    this.#finishing = charge
    charge.finishTimer = setTimeout(() => refuse(tooManyAtOnce()), this.#options.finishMs)
    start()
  }

  #hasRoom(share: string): boolean {
    const { sharedBytes } = this.#options
    return (this.#shares.get(share) ?? 0) < this.#free - sharedBytes * classOf(share).spared
  }

  #take(charge: BodyCharge, share: string, bytes: number): void {
    charge.taken.set(share, (charge.taken.get(share) ?? 0) + bytes)
    this.#add(share, bytes)
  }

  #add(share: string, bytes: number): void {
    const sum = (this.#shares.get(share) ?? 0) + bytes
    if (sum === 0) this.#shares.delete(share)
    else this.#shares.set(share, sum)
    this.#free -= bytes
  }
}

/** The memory that one body uses. */
export class BodyCharge {
  bytes = 0
  /** Bytes by share. A body of unknown length changes its class as it grows. */
  readonly taken = new Map<string, number>()
  leaveQueue: (() => void) | undefined
  finishTimer: NodeJS.Timeout | undefined
}

type Waiting = {
  charge: BodyCharge
  share: string
  bytes: number
  start: () => void
  refuse: (error: Error) => void
}

/** The key of a share begins with the index of its class. */
const shareOf = (owner: string, atLeastBytes: number) =>
  `${CLASSES.findIndex(({ maxBytes }) => atLeastBytes <= maxBytes)} ${owner}`
const classOf = (share: string) => CLASSES[Number(share[0])] as (typeof CLASSES)[number]

const tooManyAtOnce = () =>
  new AppError('unavailable', 'unavailable', 'Too many large bodies at once, try again later', {
    retryAfterSeconds: 5,
  })
