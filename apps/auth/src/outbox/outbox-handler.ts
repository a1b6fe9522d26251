import type { Tx } from '@signet/db'
import type { RequestMeta } from '../requests/request-meta.js'

/** Why a message was given up: too old, permanently refused, or encrypted with a key we no longer have. */
export const GIVEN_UP_REASONS = ['expired', 'refused', 'unreadable'] as const
export type GivenUpReason = (typeof GIVEN_UP_REASONS)[number]

/** The part of the originating request that is stored with a message. */
export type MessageOrigin = Pick<RequestMeta, 'requestId' | 'route' | 'ip' | 'language'> &
  Partial<Pick<RequestMeta, 'userAgent' | 'client'>>

/** What every attempt is told about its message. */
export type Attempt = {
  /** The same in every attempt, so that the receiver can drop duplicates. */
  readonly id: string
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly createdAt: Date
  /** For log lines and the audit log. */
  readonly meta: MessageOrigin
  /** Aborted when nobody waits for the outcome anymore. */
  readonly signal: AbortSignal
}

/**
 * How messages of one kind are sent. `P` and `U` are the payload and `undo` passed to `Outbox.add`, after a round trip through JSON. A new
 * kind needs nothing but a handler in `context.ts`.
 */
export type OutboxHandler<P extends object, U extends object = object> = {
  readonly kind: string
  /** A trigger writes the rows. It has no key, so the payload is plain JSON, and the request is unknown. */
  readonly plain?: true
  /** Maximum number of concurrent attempts, so that one slow receiver does not hold up the others. */
  readonly concurrency: number
  /** Whether each recipient gets messages in the order in which they were added. Each one waits until the previous one is done. */
  readonly ordered: boolean
  /** Time for `send`. If the sender reports nothing in this time plus `reportMs`, the message becomes due again. */
  readonly attemptMs: number
  /**
   * Time for recording the outcome after the longest attempt, 5 s by default. With less time, messages of a process that died are repeated
   * sooner, but more messages are sent twice while the database is slow.
   */
  readonly reportMs?: number
  /** Time to wait after this many failed attempts. */
  retryDelayMs(attempts: number): number
  /**
   * The shortest time until the next attempt if the outcome of the last one is unknown, unless the message would expire first. The receiver
   * may just have been slow, and would get the message twice. 0 by default.
   */
  readonly unknownDelayMs?: number
  /**
   * Resolves when the message was accepted. Throws `UndeliverableError` when retrying is pointless, and `UnknownOutcomeError` when it may
   * have been accepted.
   */
  send(payload: P, attempt: Attempt): Promise<void>
  /**
   * Undoes what depended on the message, in the transaction that gives it up, and returns the fields of the audit entry. Not called for
   * messages without `undo`.
   */
  givenUp?(tx: Tx, undo: U): Promise<Record<string, string>>
}

/** The receiver permanently refused the message. The text is for the log: it contains no secret and no address. */
export class UndeliverableError extends Error {
  override name = 'UndeliverableError'
}

/** The receiver may have accepted the message: it got all of it, or the time for an attempt ran out. */
export class UnknownOutcomeError extends Error {
  override name = 'UnknownOutcomeError'
}

/**
 * Doubles from `firstMs` to `maxMs`, with up to 20% subtracted at random, so that messages that failed together are
 * not retried together.
 */
export const exponentialDelay =
  (firstMs: number, maxMs: number) =>
  (attempts: number): number =>
    Math.min(firstMs * 2 ** (attempts - 1), maxMs) * (1 - Math.random() / 5)
