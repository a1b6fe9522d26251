import { type Tx } from '@signet/db'
import { type RequestMeta } from '../requests/request-meta.js'

/** Why a message was given up: too old, refused for good, or written with a key that is not ours any more. */
export const GIVEN_UP_REASONS = ['expired', 'refused', 'unreadable'] as const
export type GivenUpReason = (typeof GIVEN_UP_REASONS)[number]

/** The request that caused a message, as far as it is kept. */
export type MessageOrigin = Pick<RequestMeta, 'requestId' | 'route' | 'ip'>

/** What every attempt knows about its message. */
export type Attempt = {
  /** The same in every attempt, so that the other side can drop repeats. */
  readonly id: string
  /** 1 for the first one. */
  readonly attempt: number
  readonly createdAt: Date
  /** For log lines and the audit log. */
  readonly meta: MessageOrigin
}

/**
 * How messages of one kind are sent. `P` is the payload as it was given to `Outbox.add`, after a trip through JSON.
 * Register a handler in `context.ts`; nothing else is needed for a new kind.
 */
export type OutboxHandler<P extends object> = {
  readonly kind: string
  /** Rows that a trigger writes, which has no key: the payload is JSON as it stands, and the request is not known. */
  readonly plain?: true
  /** One slow receiver must not hold up the others: at most this many are under way at the same time. */
  readonly concurrency: number
  /** Sends to one recipient in the order of insertion; a message waits until the one before it is gone. */
  readonly ordered: boolean
  /** Time for `send`. A message becomes due again when its sender is silent for longer than that. */
  readonly attemptMs: number
  /** Time to wait after this many failed attempts. */
  retryDelayMs(attempts: number): number
  /** Resolves when the message was taken. Throws `UndeliverableError` when another attempt would be refused too. */
  send(payload: P, attempt: Attempt): Promise<void>
  /** Takes back what relied on the message, in the transaction that gives it up; returns what the audit log names. */
  givenUp?(tx: Tx, payload: P, reason: GivenUpReason): Promise<Record<string, string>>
}

/** The receiver refused the message for good. The text is for the log: it holds no secret and no address. */
export class UndeliverableError extends Error {
  override name = 'UndeliverableError'
}

/** Doubles from `firstMs` to `maxMs`, less up to a fifth, so that what failed together is not tried together again. */
export const exponentialDelay =
  (firstMs: number, maxMs: number) =>
  (attempts: number): number =>
    Math.min(firstMs * 2 ** (attempts - 1), maxMs) * (1 - Math.random() / 5)
