import type { Observer } from '../observers/observer.js'
import type { OneTimeTokens, Withdrawable } from '../one-time-tokens/one-time-tokens.js'
import { exponentialDelay, type OutboxHandler } from '../outbox/outbox-handler.js'
import type { SmsChannel, SmsSender } from './sms-sender.js'

export const SMS = 'sms'

/** A code to send to a phone. */
export type SmsPayload = {
  phone: string
  code: string
  channel: SmsChannel
  /** The token of the code; withdrawn if it is never delivered. */
  secret: Withdrawable
}

type Deps = {
  sender: SmsSender
  tokens: Pick<OneTimeTokens, 'withdraw'>
  observer: Observer
  concurrency: number
  attemptMs: number
}

/** Codes by SMS live for a minute or so. */
export const smsRetryDelayMs = exponentialDelay(1000, 15_000)

export const smsHandler = ({
  sender,
  tokens,
  observer,
  concurrency,
  attemptMs,
}: Deps): OutboxHandler<SmsPayload> => ({
  kind: SMS,
  ordered: false,
  concurrency,
  attemptMs,
  retryDelayMs: smsRetryDelayMs,
  async send({ phone, code, channel }, { id, meta }) {
    const { messageId } = await sender.send(phone, code, channel)
    observer.smsTaken(id, messageId, meta.requestId)
  },
  async givenUp(tx, { secret }) {
    await tokens.withdraw(tx, secret)
    return { user_id: secret.userId }
  },
})
