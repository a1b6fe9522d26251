export type LaneOptions = {
  /** Attempts in flight in this process. */
  slots: number
  /** Attempts in flight for one endpoint in this process (contract F.1). */
  perEndpoint: number
  /** Milliseconds of a steady clock. */
  now?: () => number
  random?: () => number
}

/** A place for one attempt. `leave` gives it back; calling it twice is harmless. */
export type Slot = { leave(): void }
export type Entry = { slot: Slot } | { stepBackMs: number; reason: StepBackReason }
export type StepBackReason = 'endpoint_full' | 'slow_endpoints_full' | 'closing'

/** An endpoint whose attempts take longer than this is slow. */
const SLOW_MS = 1000
/** A turn that comes within this time is waited for here. */
const WAIT_HERE_MS = 500
/**
 * An endpoint whose turns come as fast as this serves a crowd sooner than the crowd could step back and return: two trips to
 * Redis and a row in the schedule for each. There everybody waits.
 */
const QUICK_TURN_MS = 3
/** Nobody waits longer, whatever was expected. */
const MAX_WAIT_HERE_MS = 1000
const MIN_STEP_BACK_MS = 50
const MAX_STEP_BACK_MS = 30_000
/** What an attempt is assumed to take until one has been seen. */
const FIRST_GUESS_MS = 100
/** Endpoints remembered while nothing is in flight for them. */
const MEMORY = 20_000

type Waiter = { enter: () => void; stepBack: () => void }
type InLine = { endpoint: Endpoint; resolve: (entry: Entry) => void }

class Endpoint {
  /** Its places that are taken, by attempts in flight and by those that have a place and wait in line for a slot. */
  taken = 0
  /** Start times of what is in flight, oldest first. */
  readonly started = new Set<{ at: number }>()
  waiters: Waiter[] = []
  /** Mean time of the latest attempts; undefined until one has ended. */
  averageMs: number | undefined
  lastMs = 0
  /** When the next job that steps back should come again: each takes a later turn than the one before. */
  nextTurnAt = 0
}

/**
 * Keeps one receiver from delaying the others (contract F.1). Three rules:
 *
 * 1. At most `perEndpoint` attempts are in flight for one endpoint.
 * 2. Endpoints that are slow now (an attempt in flight, or the last one, took over a second) share a quarter of the slots,
 *    and together with those never heard of half of them. So hanging receivers, however many, never hold every slot.
 * 3. At most `slots` attempts are in flight. More jobs than that may be in hand: whoever has a place at its endpoint stands
 *    in one line for the next slot, first come, first served.
 *
 * Whoever finds no place waits here if its turn comes within half a second, or if turns come quickly, else steps back into
 * the queue until its turn.
 */
export class EndpointLanes {
  private readonly endpoints = new Map<string, Endpoint>()
  private readonly now: () => number
  private readonly random: () => number
  private readonly busy = new Set<Endpoint>()
  private line: InLine[] = []
  private inFlight = 0
  private closed = false

  constructor(private readonly options: LaneOptions) {
    this.now = options.now ?? (() => performance.now())
    this.random = options.random ?? Math.random
  }

  get size(): number {
    return this.inFlight
  }

  /** A slot for an attempt to this endpoint, or how long to step back. `again`: it has stepped back before. */
  enter(id: string, again = false): Entry | Promise<Entry> {
    if (this.closed) return { stepBackMs: MIN_STEP_BACK_MS, reason: 'closing' }
    const endpoint = this.endpointOf(id)
    if (!this.hasRoomFor(endpoint)) return this.stepBack(endpoint, 'slow_endpoints_full', again)
    if (endpoint.taken < this.options.perEndpoint) return this.take(endpoint)
    return this.isSlow(endpoint) || !this.isSoon(endpoint)
      ? this.stepBack(endpoint, 'endpoint_full', again)
      : this.waitHere(endpoint)
  }

  /** Sends everybody who waits back into the queue and lets nobody in any more. */
  close(): void {
    this.closed = true
    for (const { waiters } of this.endpoints.values()) for (const waiter of [...waiters]) waiter.stepBack()
    for (const { endpoint, resolve } of this.line.splice(0)) {
      this.giveBack(endpoint)
      resolve(this.stepBack(endpoint, 'closing', true))
    }
  }

  private endpointOf(id: string): Endpoint {
    const known = this.endpoints.get(id) ?? new Endpoint()
    // Again at the end of the map's order, so that the first ones are those not used for longest.
    this.endpoints.delete(id)
    this.endpoints.set(id, known)
    if (this.endpoints.size > MEMORY) this.forgetIdle()
    return known
  }

  private forgetIdle(): void {
    for (const [id, { taken, waiters }] of this.endpoints) {
      if (this.endpoints.size <= MEMORY) return
      if (taken === 0 && waiters.length === 0) this.endpoints.delete(id)
    }
  }

  private isSlow(endpoint: Endpoint): boolean {
    const [oldest] = endpoint.started
    return endpoint.lastMs > SLOW_MS || (oldest !== undefined && this.now() - oldest.at > SLOW_MS)
  }

  private isSoon(endpoint: Endpoint): boolean {
    const turnMs = this.turnMs(endpoint)
    return turnMs <= QUICK_TURN_MS || turnMs * (endpoint.waiters.length + 1) <= WAIT_HERE_MS
  }

  private hasRoomFor(endpoint: Endpoint): boolean {
    const slow = this.isSlow(endpoint)
    if (!slow && endpoint.averageMs !== undefined) return true
    let slowTaken = 0
    let unknownTaken = 0
    for (const other of this.busy) {
      if (this.isSlow(other)) slowTaken += other.taken
      else if (other.averageMs === undefined) unknownTaken += other.taken
    }
    const { slots } = this.options
    if (slow && slowTaken >= Math.max(1, Math.floor(slots / 4))) return false
    return slowTaken + unknownTaken < Math.max(1, Math.floor(slots / 2))
  }

  /** A place at the endpoint, and with it a slot: now, or in line for the next one. */
  private take(endpoint: Endpoint): Entry | Promise<Entry> {
    endpoint.taken += 1
    this.busy.add(endpoint)
    if (this.inFlight < this.options.slots) return { slot: this.begin(endpoint) }
    return new Promise((resolve) => this.line.push({ endpoint, resolve }))
  }

  private begin(endpoint: Endpoint): Slot {
    const start = { at: this.now() }
    endpoint.started.add(start)
    this.inFlight += 1
    return {
      leave: () => {
        if (!endpoint.started.delete(start)) return
        const tookMs = this.now() - start.at
        endpoint.lastMs = tookMs
        endpoint.averageMs = 0.8 * (endpoint.averageMs ?? tookMs) + 0.2 * tookMs
        this.inFlight -= 1
        this.giveBack(endpoint)
        const next = this.line.shift()
        next?.resolve({ slot: this.begin(next.endpoint) })
        endpoint.waiters[0]?.enter()
      },
    }
  }

  private giveBack(endpoint: Endpoint): void {
    endpoint.taken -= 1
    if (endpoint.taken === 0) this.busy.delete(endpoint)
  }

  /** How long until the next of its places becomes free, on average. */
  private turnMs(endpoint: Endpoint): number {
    return (endpoint.averageMs ?? FIRST_GUESS_MS) / this.options.perEndpoint
  }

  private waitHere(endpoint: Endpoint): Promise<Entry> {
    return new Promise((resolve) => {
      const settle = (entry: () => Entry | Promise<Entry>) => {
        clearTimeout(timer)
        endpoint.waiters.splice(endpoint.waiters.indexOf(waiter), 1)
        resolve(entry())
      }
      const waiter: Waiter = {
        enter: () => settle(() => this.take(endpoint)),
        stepBack: () =>
          settle(() => this.stepBack(endpoint, this.closed ? 'closing' : 'endpoint_full', true)),
      }
      const timer = setTimeout(waiter.stepBack, MAX_WAIT_HERE_MS)
      endpoint.waiters.push(waiter)
    })
  }

  private stepBack(endpoint: Endpoint, reason: StepBackReason, again: boolean): Entry {
    if (reason === 'closing') return { stepBackMs: MIN_STEP_BACK_MS, reason }
    const waitMs = again ? this.shortWaitMs(endpoint) : this.waitInLineMs(endpoint)
    const spread = 0.9 + 0.2 * this.random()
    return { stepBackMs: Math.round(Math.max(MIN_STEP_BACK_MS, waitMs * spread)), reason }
  }

  /** To the end of the line: each newcomer has a later turn than the one before, as far apart as places become free. */
  private waitInLineMs(endpoint: Endpoint): number {
    const now = this.now()
    const turnMs = this.isSlow(endpoint)
      ? Math.max(this.turnMs(endpoint), SLOW_MS / 8)
      : this.turnMs(endpoint)
    endpoint.nextTurnAt = Math.min(Math.max(endpoint.nextTurnAt, now) + turnMs, now + MAX_STEP_BACK_MS)
    return endpoint.nextTurnAt - now
  }

  /** Whose turn has come finds a place a little later; at the end of the line it would never get one. */
  private shortWaitMs(endpoint: Endpoint): number {
    return Math.min(4 * (endpoint.averageMs ?? FIRST_GUESS_MS), MAX_STEP_BACK_MS)
  }
}
