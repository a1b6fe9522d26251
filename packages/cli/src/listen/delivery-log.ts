import type { Output } from '../output/output.js'
import { deliveryJson, deliveryText } from './delivery-view.js'
import { answerJson, answerText } from './answer-view.js'
import { forward } from './forward.js'
import { inspect } from './inspect.js'
import type { Received } from './receiver.js'

type Options = {
  full: boolean
  /** How many accepted deliveries to wait for. Undefined means no limit. */
  count: number | undefined
  /** The application that authentic deliveries are forwarded to. */
  forwardTo: URL | undefined
}

const NO_CONTENT = 204
const BAD_REQUEST = 400
const BAD_GATEWAY = 502

/** Prints deliveries as they arrive and decides how each is answered. */
export class DeliveryLog {
  accepted = 0
  /** Resolves when `count` deliveries have been accepted and answered. */
  readonly done: Promise<void>
  readonly #seen = new Set<string>()
  #finish: () => void = () => undefined
  #secret: Promise<string | undefined>
  #knowSecret: (secret: string | undefined) => void = () => undefined

  constructor(
    private readonly output: Output,
    private readonly options: Options,
  ) {
    this.done = new Promise((resolve) => (this.#finish = resolve))
    this.#secret = new Promise((resolve) => (this.#knowSecret = resolve))
  }

  /**
   * Supplies the secret, which is known only after the webhook exists: the first delivery may arrive before the response with the
   * secret.
   */
  verifyWith(secret: string | undefined): void {
    this.#knowSecret(secret)
  }

  async take(received: Received): Promise<number> {
    const delivery = inspect(received, await this.#secret)
    const isRepeated = delivery.eventId !== undefined && this.#seen.has(delivery.eventId)
    this.output.streamed(deliveryJson(delivery, isRepeated), (paint) =>
      deliveryText(delivery, { isRepeated, full: this.options.full }, paint),
    )
    if (delivery.verification !== 'verified' && delivery.verification !== 'unchecked') return BAD_REQUEST
    if (delivery.eventId !== undefined) this.#seen.add(delivery.eventId)
    const status = await this.#statusOf(received, delivery.deliveryId)
    if (status < 200 || status > 299) return status
    this.accepted += 1
    // Waits until the response is on its way, so that the sender also sees the last delivery accepted.
    if (this.accepted === this.options.count) setImmediate(this.#finish)
    return status
  }

  /** The application's own status, which the sender gets too, so that it retries what the application refuses. */
  async #statusOf(received: Received, deliveryId: string): Promise<number> {
    const { forwardTo } = this.options
    if (forwardTo === undefined) return NO_CONTENT
    const answer = await forward(received, forwardTo)
    const json = { kind: 'answer', delivery_id: deliveryId, ...answerJson(forwardTo, answer) }
    this.output.streamed(json, (paint) => answerText(forwardTo, answer, paint))
    return answer.status ?? BAD_GATEWAY
  }
}
