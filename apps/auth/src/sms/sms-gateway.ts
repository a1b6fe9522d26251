import { type Outbound, type OutboundResponse } from '../outbound/outbound.js'

export type SmsChannel = 'sms' | 'whatsapp'

/** One code on its way to a phone. */
export type SmsMessage = {
  /** E.164 digits without `+`. */
  phone: string
  text: string
  /** The code alone, for gateways that keep the text themselves. */
  code: string
  channel: SmsChannel
}

/** Gives the gateway's id of the message; throws {@link SmsGatewayError} when it refused. */
export type SmsGateway = (message: SmsMessage) => Promise<{ messageId: string }>

/** What a gateway needs besides its credentials. Other base URLs than its own are for tests. */
export type GatewayDeps = { outbound: Outbound; baseUrl: string }

/** The gateway answered and did not take the message. `message` holds the gateway's own words, for the log. */
export class SmsGatewayError extends Error {
  override name = 'SmsGatewayError'

  /** `final`: the gateway rejected this message and would reject it again. */
  constructor(
    message: string,
    readonly final: boolean,
  ) {
    super(message)
  }
}

/** Whether a status is about the message, and not about our credentials, our rate or the health of the gateway. */
export const isFinalStatus = (status: number): boolean =>
  status < 500 && ![401, 402, 403, 408, 429].includes(status)

/** The body of an answer; gateways answer errors as JSON too, and what is none is an error. */
export function readJson<T extends object>({ status, text }: OutboundResponse): Partial<T> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Said below: the text itself is some proxy's page and helps nobody.
  }
  throw new SmsGatewayError(`status ${status} without a JSON object`, false)
}

/** The id of a message that was taken: without one the answer is not what the gateway documents. */
export function taken(id: unknown): { messageId: string } {
  if (typeof id === 'string' && id !== '') return { messageId: id }
  // It may have been taken: sending it again is worse than not knowing its id.
  throw new SmsGatewayError('the gateway gave no message id', true)
}
