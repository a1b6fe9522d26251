import { randomInt } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import type { MessageRequest, MessageRequests } from '../messages/message-requests.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { Outbox } from '../outbox/outbox.js'
import type { MessagePurpose } from '../quotas/send-quotas.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { AccountWork } from './account-work.js'

/** The outbox kind of account requests. */
export const ACCOUNT_REQUEST = 'account_request'

const MAX_PAUSE_MS = 600

/**
 * Processing a request keeps the server busier if there is an account to send something to. A client that times other requests right after
 * the response could measure that. At a random moment later, the difference disappears among the server's other work.
 */
export const randomPauseMs = (): number => randomInt(MAX_PAUSE_MS + 1)

/** Runs the work that accepts a request in a transaction. */
export type Transact = (work: (tx: Tx) => Promise<void>) => Promise<void>

type Deps = {
  db: Db
  outbox: Outbox
  messages: SecretMessages
  requests: MessageRequests
  /** A request that could not be processed for this long is dropped. */
  lifeMs: number
  /** How long a request waits before it is processed: {@link randomPauseMs}, or no time in tests. */
  pauseMs: () => number
  now: () => Date
}

/**
 * Requests that anyone may make about any address: recover, sign in by link or code, resend. The request itself never
 * looks up an account. It counts against the quotas and the interval of address and client and goes into the outbox, so the
 * response and its timing are the same for every address: there is only one code path (decision 0129).
 */
export class AccountRequests {
  constructor(private readonly deps: Deps) {}

  /** With null as `work`, only counts the request, which is about to be refused. */
  async accept(
    work: AccountWork | null,
    request: MessageRequest & { purpose: MessagePurpose },
    meta: RequestMeta,
    transact: Transact = (accepting) => this.deps.db.transaction(accepting),
  ): Promise<void> {
    const { outbox, messages, requests, lifeMs, pauseMs, now } = this.deps
    const { address, via, purpose } = request
    if (via === address.kind) messages.refuseAddress(address)
    const expiresAt = new Date(now().getTime() + lifeMs)
    const delayMs = pauseMs()
    const message = work && {
      kind: ACCOUNT_REQUEST,
      recipient: address.value,
      payload: work,
      delayMs,
      expiresAt,
    }
    await messages.counted([{ address, purpose }], meta, () =>
      transact(async (tx) => {
        const refusal = await requests.refusal(tx, request, meta.client)
        if (refusal !== null) throw refusal
        if (message !== null) await outbox.add(tx, message, meta)
      }),
    )
  }
}
