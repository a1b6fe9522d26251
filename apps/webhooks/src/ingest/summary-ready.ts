import type { EncodedParts } from './encoded-parts.js'

/** A summary-ready notice, checked. `hash` covers the whole body, whatever the order of its members. */
export type SummaryReady = {
  sourceEventKey: string
  accountId: string
  audioId: string
  hash: Uint8Array
  parts: EncodedParts
}
