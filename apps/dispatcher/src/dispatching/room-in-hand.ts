/** The room of one event, from before it is dispatched until the last of its deliveries was sent. */
export type Place = {
  /** How many deliveries came of it, as soon as that is known. */
  holds(deliveries: number): void
  /** One of them was sent, or needs no room for another reason. */
  sent(): void
  leave(): void
}

export type RoomLimits = {
  /** Deliveries in hand that there is room for at any time: enough to fill every slot. */
  least: number
  most: number
  /** Milliseconds of a steady clock. */
  now?: () => number
}

/** What is in hand should be sent within this time; its plans are then still fresh. */
const IN_HAND_MS = 80
/** The pace of sending is measured over this time. */
const PACE_MS = 50

/**
 * Keeps events from being dispatched faster than their deliveries can be sent, so that a plan is young when it is used. The
 * events that find no room wait here, undispatched, as the jobs that this process has taken; how many those may be its workers
 * decide, and all others wait in the queue, where another process can take them. Waiting for the commit of a result takes no
 * room.
 */
export class RoomInHand {
  private taken = 0
  /** Deliveries of one event, in the mean of the latest: what an event is expected to need. */
  private meanDeliveries = 1
  private readonly line: ((place: Place) => void)[] = []
  private room: number
  private readonly now: () => number
  private pace: { since: number; sent: number }

  constructor(private readonly limits: RoomLimits) {
    this.now = limits.now ?? (() => performance.now())
    this.room = limits.least
    this.pace = { since: this.now(), sent: 0 }
  }

  /** First come, first served. Whoever finds any room gets in, so an event with more deliveries than all of it does too. */
  enter(): Promise<Place> {
    return new Promise((resolve) => {
      this.line.push(resolve)
      this.letIn()
    })
  }

  private letIn(): void {
    while (this.taken < this.room) {
      const next = this.line.shift()
      if (!next) return
      next(this.take())
    }
  }

  private take(): Place {
    let weight = this.meanDeliveries
    this.taken += weight
    return {
      holds: (deliveries) => {
        this.meanDeliveries = 0.9 * this.meanDeliveries + 0.1 * deliveries
        this.taken += deliveries - weight
        weight = deliveries
        this.letIn()
      },
      sent: () => {
        this.keepPace()
        if (weight < 1) return
        this.taken -= 1
        weight -= 1
        this.letIn()
      },
      leave: () => {
        this.taken -= weight
        weight = 0
        this.letIn()
      },
    }
  }

  private keepPace(): void {
    const { least, most } = this.limits
    this.pace.sent += 1
    const tookMs = this.now() - this.pace.since
    if (tookMs < PACE_MS) return
    const inTime = Math.round((this.pace.sent / tookMs) * IN_HAND_MS)
    this.room = Math.min(most, Math.max(least, inTime))
    this.pace = { since: this.now(), sent: 0 }
  }
}
