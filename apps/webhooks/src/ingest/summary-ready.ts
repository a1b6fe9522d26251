import type { EventId } from '@signet/webhook-core'
import type { EncodedParts } from './encoded-parts.js'

/** Of the event that a notice makes: its body names both, so they are known before it is read. */
export type NewEvent = { id: EventId; createdAt: Date }

/** A summary-ready notice, checked. `hash` covers the whole body, whatever the order of its members. */
export type SummaryReady = {
  event: NewEvent
  sourceEventKey: string
  accountId: string
  audioId: string
  hash: Uint8Array
  parts: EncodedParts
  /** What will be sent, in UTF-8; null if it takes more than the notice to know. */
  body: Uint8Array | null
}
