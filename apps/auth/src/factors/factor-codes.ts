import type { Tx } from '@signet/db'
import { authError } from '../errors/auth-error.js'
import type { MessageOrigin, OutboxHandler } from '../outbox/outbox-handler.js'
import type { Outbox } from '../outbox/outbox.js'
import { codeSending, type CodeSending, type SmsPayload } from '../sms/sms-handler.js'
import type { SmsSender } from '../sms/sms-sender.js'
import type { ChallengeStore } from './challenge-store.js'
import type { FactorStore } from './factor-store.js'

const FACTOR_SMS = 'factor_sms'

/** What the challenge of a code changed, so that it can be undone. */
export type FactorUndo = {
  userId: string
  challengeId: string
  factorId: string
  /** The time of the challenge, and of the one that it replaced, in RFC 3339 format. */
  challengedAt: string
  challengedBefore: string | null
}

type Deps = { sender: Pick<SmsSender, 'isReady'>; outbox: Outbox; now: () => Date }

/** Sends the codes of second factors to phones. */
export class FactorCodes {
  constructor(private readonly deps: Deps) {}

  /** Throws `unexpected_failure` if no gateway is configured. */
  refuse(): void {
    if (this.deps.sender.isReady) return
    throw authError('internal', 'unexpected_failure', 'The code could not be sent', {
      cause: new Error('AUTH_SMS_PROVIDER is not configured'),
    })
  }

  async add(
    tx: Tx,
    payload: SmsPayload,
    undo: FactorUndo,
    expiresAt: Date,
    meta: MessageOrigin,
  ): Promise<void> {
    const message = { kind: FACTOR_SMS, recipient: payload.phone, payload, undo, expiresAt }
    await this.deps.outbox.add(tx, message, meta)
  }
}

type HandlerDeps = CodeSending & { challenges: ChallengeStore; factors: FactorStore }

export const factorCodeHandler = ({
  challenges,
  factors,
  ...sending
}: HandlerDeps): OutboxHandler<SmsPayload, FactorUndo> => ({
  kind: FACTOR_SMS,
  ...codeSending(sending),
  /** The code never arrived, so the next challenge does not have to wait. */
  async givenUp(tx, { userId, challengeId, factorId, challengedAt, challengedBefore }) {
    await challenges.remove(tx, challengeId)
    const before = challengedBefore === null ? null : new Date(challengedBefore)
    await factors.restoreStamp(tx, factorId, new Date(challengedAt), before)
    return { user_id: userId, factor_id: factorId }
  },
})
