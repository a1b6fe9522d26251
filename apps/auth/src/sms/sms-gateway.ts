import type { Outbound, OutboundResponse } from '../outbound/outbound.js'

export type SmsChannel = 'sms' | 'whatsapp'

/** One code to send to a phone. */
export type SmsMessage = {
  /** E.164 digits without `+`. */
  phone: string
  text: string
  /** The code alone, for gateways that store the text themselves. */
  code: string
  channel: SmsChannel
}

/** Resolves to the gateway's id of the message. Throws {@link SmsGatewayError} if the gateway refused it. */
export type SmsGateway = (message: SmsMessage) => Promise<{ messageId: string }>

/** What a gateway needs besides its credentials. Tests override the base URL. */
export type GatewayDeps = { outbound: Outbound; baseUrl: string }

/** The gateway answered but refused the message. `message` is the gateway's error text, for the log. */
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

/** Whether a status is about the message itself, and not about our credentials, our rate or the health of the gateway. */
export const isFinalStatus = (status: number): boolean =>
  status < 500 && ![401, 402, 403, 408, 429].includes(status)

/** The JSON body of a response. Gateways report errors as JSON too, so anything else is an error. */
export function readJson<T extends object>({ status, text }: OutboundResponse): Partial<T> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // The error is thrown below. The text is probably the error page of a proxy.
  }
  throw new SmsGatewayError(`status ${status} without a JSON object`, false)
}

/** The id of an accepted message. The gateways document that there always is one. */
export function taken(id: unknown): { messageId: string } {
  if (typeof id === 'string' && id !== '') return { messageId: id }
  // The message may have been accepted. Sending it twice would be worse than not knowing its id.
  throw new SmsGatewayError('the gateway returned no message id', true)
}
