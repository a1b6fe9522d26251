import type { EventId } from '@signet/webhook-core'
import type { EncodedParts } from './encoded-parts.js'

/** Chosen before a notice is parsed, because the body of its event contains both. */
export type NewEvent = { id: EventId; createdAt: Date }

/** A checked summary-ready notice. `hash` covers the whole body and does not depend on the order of its members. */
export type SummaryReady = {
  event: NewEvent
  sourceEventKey: string
  accountId: string
  audioId: string
  hash: Uint8Array
  parts: EncodedParts
  /** The body to send, in UTF-8. Null if the notice alone does not determine it. */
  body: Uint8Array | null
}
