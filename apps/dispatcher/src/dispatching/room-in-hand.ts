/** The room of one event, from before it is dispatched until the last of its deliveries was sent. */
export type Place = {
  /** How many deliveries came of it, as soon as that is known. */
  holds(deliveries: number): void
  /** One of them was sent, or needs no room for another reason. */
  sent(): void
  leave(): void
}

/**
 * Keeps events from being dispatched faster than their deliveries can be sent: what is in the hands of this process waits
 * a fraction of a second for its place, and what has to wait longer waits in the queue, where another process can take it.
 * Waiting for the commit of a result takes no room.
 */
export class RoomInHand {
  private taken = 0
  /** Deliveries of one event, in the mean of the latest: what an event is expected to need. */
  private meanDeliveries = 1
  private readonly line: ((place: Place) => void)[] = []

  constructor(private readonly deliveries: number) {}

  /** First come, first served. Whoever finds any room gets in, so an event with more deliveries than all of it does too. */
  enter(): Promise<Place> {
    return new Promise((resolve) => {
      this.line.push(resolve)
      this.letIn()
    })
  }

  private letIn(): void {
    while (this.taken < this.deliveries) {
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
}
