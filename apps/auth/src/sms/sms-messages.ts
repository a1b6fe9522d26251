import type { Tx } from '@signet/db'
import { authError } from '../errors/auth-error.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { Outbox } from '../outbox/outbox.js'
import { SMS, type SmsPayload, type SmsUndo } from './sms-handler.js'
import type { SmsSender } from './sms-sender.js'

type Deps = {
  sender: Pick<SmsSender, 'isReady'>
  outbox: Outbox
  /** For how long to try to deliver a code. */
  lifeMs: number
  now: () => Date
}

/** Puts SMS codes into the outbox, in the transaction that creates them. */
export class SmsMessages {
  constructor(private readonly deps: Deps) {}

  /** Throws `unexpected_failure` if no gateway is configured, so that people do not wait for a code that never comes. */
  refuse(): void {
    if (this.deps.sender.isReady) return
    throw authError('internal', 'unexpected_failure', 'SMS cannot be sent', {
      cause: new Error('AUTH_SMS_PROVIDER is not configured'),
    })
  }

  async add(tx: Tx, payload: SmsPayload, undo: SmsUndo, meta: MessageOrigin): Promise<void> {
    const { outbox, lifeMs, now } = this.deps
    const expiresAt = new Date(now().getTime() + lifeMs)
    await outbox.add(tx, { kind: SMS, recipient: payload.phone, payload, undo, expiresAt }, meta)
  }
}
