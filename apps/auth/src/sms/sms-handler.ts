import type { Observer } from '../observers/observer.js'
import type { OneTimeTokens, Withdrawable } from '../one-time-tokens/one-time-tokens.js'
import { exponentialDelay, type Attempt, type OutboxHandler } from '../outbox/outbox-handler.js'
import type { SmsChannel, SmsSender } from './sms-sender.js'

export const SMS = 'sms'

/** A code to send to a phone. */
export type SmsPayload = {
  phone: string
  code: string
  channel: SmsChannel
}

/** The token of the code. It is withdrawn if the code is never delivered. */
export type SmsUndo = { secret: Withdrawable }

/** What it takes to send codes to phones. */
export type CodeSending = { sender: SmsSender; observer: Observer; concurrency: number; attemptMs: number }

/** How a handler sends codes to phones. Handlers differ in what they undo when a code is given up. */
export const codeSending = ({ sender, observer, concurrency, attemptMs }: CodeSending) => ({
  ordered: false,
  concurrency,
  attemptMs,
  // A code is valid for only a minute or so.
  retryDelayMs: exponentialDelay(1000, 15_000),
  async send({ phone, code, channel }: SmsPayload, { id, meta }: Attempt): Promise<void> {
    const { messageId } = await sender.send(phone, code, channel)
    observer.smsTaken(id, messageId, meta.requestId)
  },
})

type Deps = CodeSending & { tokens: Pick<OneTimeTokens, 'withdraw'> }

export const smsHandler = ({ tokens, ...sending }: Deps): OutboxHandler<SmsPayload, SmsUndo> => ({
  kind: SMS,
  ...codeSending(sending),
  async givenUp(tx, { secret }) {
    await tokens.withdraw(tx, secret)
    return { user_id: secret.userId }
  },
})
