// Parser threads load this file. `import type` disappears when compiled; an inline `type` would leave an import of the whole
// module, which costs each thread a fifth of a second and 25 MiB.
import type {
  RecordingFields,
  SummaryFields,
  TranscriptFields,
  TranscriptSegment,
} from '@signet/webhook-core/stores'
import { storable, storableOrNull } from '../text/storable.js'

/** An update of a recording through the internal API: an omitted part stays, `null` deletes it. */
export type RecordingParts = {
  recording?: RecordingFields | null
  transcript?: TranscriptFields | null
  summaries?: SummaryFields[] | null
}

/** Parts encoded for PostgreSQL. Can be transferred between threads, so that a worker thread can encode large ones. */
export type EncodedParts = { readonly encoded: readonly unknown[] }

/**
 * Encodes parts for `ingestSummary` and `putRecording`, which otherwise do it themselves: replaces characters that cannot be
 * stored and converts long text to UTF-8. Takes a second for 32 MiB, so large parts belong in a worker thread.
 */
export function encodeParts({ recording, transcript, summaries }: RecordingParts): EncodedParts {
  return {
    encoded: [
      actionOn(recording),
      storableOrNull(recording?.reportId),
      recording?.status ?? null,
      storableOrNull(recording?.title),
      recording?.durationMs ?? null,
      recording?.recordedAt ?? null,
      actionOn(transcript),
      storableOrNull(transcript?.language),
      transcript ? utf8(storable(transcript.text)) : null,
      transcript?.segments ? segmentsJson(transcript.segments) : null,
      actionOn(summaries),
      summariesJson(summaries ?? []),
    ],
  }
}

const actionOn = (part: object | null | undefined) =>
  part === undefined ? 'keep' : part === null ? 'delete' : 'put'

// The driver sends bytes unchanged, and the binary form of text and json is UTF-8.
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** In the documented member order, so that the payload can use the stored text as is. */
const segmentsJson = (segments: readonly TranscriptSegment[]): Uint8Array =>
  utf8(
    JSON.stringify(
      segments.map(({ speaker, start, end, text }) => ({
        speaker: storable(speaker),
        start,
        end,
        text: storable(text),
      })),
    ),
  )

const summariesJson = (summaries: readonly SummaryFields[]): Uint8Array =>
  utf8(
    JSON.stringify(
      summaries.map(({ label, content, format, templateName }) => ({
        label: storable(label),
        content: storable(content),
        format: storable(format),
        template_name: storableOrNull(templateName),
      })),
    ),
  )
