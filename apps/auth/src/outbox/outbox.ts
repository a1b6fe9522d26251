import { randomUUID, type KeyObject } from 'node:crypto'
import type { Tx } from '@signet/db'
import { keyedHash } from '../secrets/derived-keys.js'
import { seal, unseal } from '../secrets/sealed-box.js'
import type { MessageOrigin } from './outbox-handler.js'
import type { ClaimedRow, OutboxStore } from './outbox-store.js'

export type OutboxMessage = {
  /** The kind of a registered handler. */
  kind: string
  /** The recipient: an address, or the account an event is about. */
  recipient: string
  /** What the handler's `send` gets. Encrypted in the database. */
  payload: object
  /**
   * What the handler's `givenUp` gets. It is not encrypted, so that it can be read with any key. It may only contain ids, nothing secret or
   * personal.
   */
  undo?: object
  /** How long after the commit it is sent; immediately by default. */
  delayMs?: number
  /** When it is no longer worth sending; null for never. */
  expiresAt: Date | null
}

type Envelope = { meta: MessageOrigin; payload: object }
type Deps = { store: OutboxStore; keys: { encryption: KeyObject; recipients: KeyObject }; now: () => Date }

/** Messages that are sent if, and only if, the transaction that adds them commits. */
export class Outbox {
  constructor(private readonly deps: Deps) {}

  /** Returns the message's id. */
  async add(tx: Tx, message: OutboxMessage, meta: MessageOrigin): Promise<string> {
    const { store, keys, now } = this.deps
    const id = randomUUID()
    const { kind, payload, undo = null, delayMs = 0, expiresAt } = message
    const { requestId, route, ip, client, language, userAgent = '' } = meta
    const envelope: Envelope = { meta: { requestId, route, ip, client, language, userAgent }, payload }
    const recipient = keyedHash(keys.recipients, 'outbox', kind, message.recipient)
    const sealed = seal(keys.encryption, `outbox:${id}`, JSON.stringify(envelope))
    await store.insert(tx, { id, kind, recipient, payload: sealed, undo, delayMs, expiresAt }, now())
    return id
  }

  /** The payload passed to `add`; null when it was encrypted with another key. */
  open({ id, payload }: ClaimedRow): Envelope | null {
    try {
      return JSON.parse(unseal(this.deps.keys.encryption, `outbox:${id}`, payload)) as Envelope
    } catch {
      return null
    }
  }
}
