// Parser threads load this file. The compiler removes `import type`; an inline `type` would leave an import of the whole module, which
// takes each thread a fifth of a second and 25 MiB.
import type { RecordingFields, SummaryFields, TranscriptFields } from '@signet/webhook-core/stores'

/** An update of a recording through the internal API. An omitted part stays; `null` deletes it. */
export type RecordingParts = {
  recording?: RecordingFields | null
  transcript?: TranscriptFields | null
  summaries?: SummaryFields[] | null
}

/** The same with long texts in UTF-8, which the driver sends unchanged. */
export type EncodedParts = {
  recording?: RecordingFields | null
  transcript?: { language?: string; text: Uint8Array; segments?: Uint8Array } | null
  summaries?: (Omit<SummaryFields, 'content'> & { content: Uint8Array })[] | null
}

/** Takes a tenth of a second for 32 MiB, so encode large parts in a thread. The bytes can be transferred between threads. */
export const encodeParts = ({ recording, transcript, summaries }: RecordingParts): EncodedParts => ({
  recording,
  transcript: transcript && {
    language: transcript.language,
    text: utf8(transcript.text),
    segments: transcript.segments && utf8(JSON.stringify(transcript.segments)),
  },
  summaries: summaries && summaries.map((summary) => ({ ...summary, content: utf8(summary.content) })),
})

/** All byte arrays of encoded parts. */
export const bytesOf = ({ transcript, summaries }: EncodedParts): Uint8Array[] => [
  ...(transcript ? [transcript.text, ...(transcript.segments ? [transcript.segments] : [])] : []),
  ...(summaries ?? []).map(({ content }) => content),
]

const encoder = new TextEncoder()
export const utf8 = (text: string): Uint8Array => encoder.encode(text)
