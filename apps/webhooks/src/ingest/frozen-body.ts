import { definitionOf, isHtml, type EventHeader } from '@signet/webhook-core'
import type { RecordingParts } from './encoded-parts.js'

/**
 * Returns the body of a notice's event if the notice has everything that goes into it (docs/ingest.md#frozen-on-arrival): every part is
 * present (null means there is none) and no summary needs conversion. Otherwise returns null, and the dispatcher builds the body.
 */
export function frozenBody(header: EventHeader, audioId: string, parts: RecordingParts): string | null {
  const { recording, transcript, summaries } = parts
  if (recording === undefined || transcript === undefined || summaries === undefined) return null
  if (summaries?.some(isHtml)) return null
  return definitionOf('summary.completed').build(header, {
    audioId,
    recording,
    transcript,
    summaries: summaries ?? [],
  })
}
