import type { TranscriptSegment } from '../recordings/recording-content.js'
import { PAYLOAD_TARGET_BYTES } from '../recordings/target-size.js'
import {
  envelopeOf,
  type ContentEvent,
  type Envelope,
  type MembersSchema,
  type RecordingSubject,
  type ValueOf,
} from './event-definition.js'
import { longestEscapedPrefix } from './json-size.js'

/** `data` (apps/webhooks/docs/specification.md#summarycompleted). */
const schema = {
  required: ['audio_id'],
  properties: {
    audio_id: { type: 'string', description: 'The only member that is always there' },
    report_id: { type: 'string', description: 'Absent for recordings that were analyzed automatically' },
    status: { type: 'integer', description: 'Processing status' },
    title: { type: 'string' },
    duration_ms: { type: 'integer' },
    recorded_at: { type: 'string', format: 'date-time' },
    transcript: {
      type: 'object',
      required: ['text', 'truncated'],
      properties: {
        language: { type: 'string' },
        text: { type: 'string' },
        truncated: { type: 'boolean', description: 'The text was cut to keep the event near 1 MiB' },
        segments: {
          type: 'array',
          items: {
            type: 'object',
            required: ['speaker', 'start', 'end', 'text'],
            properties: {
              speaker: { type: 'string' },
              start: { type: 'number', description: 'Seconds' },
              end: { type: 'number', description: 'Seconds' },
              text: { type: 'string' },
            },
          },
        },
      },
    },
    summaries: {
      type: 'array',
      items: {
        type: 'object',
        required: ['label', 'content', 'format'],
        properties: {
          label: { type: 'string' },
          content: { type: 'string', description: 'Untrusted user content' },
          format: { type: 'string', description: '`markdown` or `html`. Ignore formats you do not know.' },
          template_name: { type: 'string' },
        },
      },
    },
  },
} as const satisfies MembersSchema

export type SummaryCompletedData = ValueOf<typeof schema>
export type SummaryCompleted = Envelope<'summary.completed', SummaryCompletedData>

const sample: SummaryCompletedData = {
  audio_id: 'rec_sample',
  report_id: 'rep_sample',
  status: 3,
  title: 'Weekly sync',
  duration_ms: 1_834_000,
  recorded_at: '2026-01-01T09:00:00.000Z',
  transcript: {
    language: 'en',
    text: 'Good morning, everyone. The new release went out on Tuesday. Good. Then let us plan the next one.',
    truncated: false,
    segments: [
      {
        speaker: 'Speaker 1',
        start: 0,
        end: 4.2,
        text: 'Good morning, everyone. The new release went out on Tuesday.',
      },
      { speaker: 'Speaker 2', start: 4.2, end: 7.5, text: 'Good. Then let us plan the next one.' },
    ],
  },
  summaries: [
    {
      label: 'Summary',
      content: '## Weekly sync\n\n- The release went out on Tuesday.\n- Next: plan the one after it.',
      format: 'markdown',
      template_name: 'Default',
    },
  ],
}

export const summaryCompleted: ContentEvent = {
  sentWhen: {
    en: 'the summaries of a recording are ready',
    de: 'die Zusammenfassungen einer Aufnahme fertig sind',
  },
  ...schema,
  sample,
  subject: 'recording',
  endsWithRecording: true,
  build: (header, recording) => withinTargetSize(envelopeOf('summary.completed', header, dataOf(recording))),
}

/** Unknown members are omitted. */
const dataOf = ({ audioId, recording, transcript, summaries }: RecordingSubject): SummaryCompletedData => ({
  audio_id: audioId,
  report_id: recording?.reportId,
  status: recording?.status,
  title: recording?.title,
  duration_ms: recording?.durationMs,
  recorded_at: recording?.recordedAt?.toISOString(),
  transcript: transcript
    ? {
        language: transcript.language,
        text: transcript.text,
        truncated: false,
        segments: transcript.segments,
      }
    : undefined,
  summaries:
    summaries.length > 0
      ? summaries.map(({ label, content, format, templateName }) => ({
          label,
          content,
          format,
          template_name: templateName,
        }))
      : undefined,
})

const fits = (json: string) => Buffer.byteLength(json) <= PAYLOAD_TARGET_BYTES

/** Rules out texts that are too long without serializing them: JSON has at least as many bytes as its strings have characters. */
const mayFit = ({
  text,
  segments = [],
}: {
  text: string
  segments?: readonly TranscriptSegment[]
}): boolean => {
  let characters = text.length
  for (const segment of segments) characters += segment.text.length
  return characters <= PAYLOAD_TARGET_BYTES
}

/**
 * Returns the envelope as JSON text. If it exceeds the target size, drops the segments first, then cuts the end of the transcript.
 * Never cuts summaries, so the result may still exceed it (apps/webhooks/docs/specification.md#body-size).
 */
export function withinTargetSize(envelope: SummaryCompleted): string {
  const { transcript } = envelope.data
  if (transcript === undefined) return JSON.stringify(envelope)
  const withTranscript = (changed: typeof transcript) =>
    JSON.stringify({ ...envelope, data: { ...envelope.data, transcript: changed } })
  const { segments: _, ...plain } = transcript
  for (const candidate of transcript.segments === undefined ? [plain] : [transcript, plain]) {
    const json = mayFit(candidate) ? withTranscript(candidate) : undefined
    if (json !== undefined && fits(json)) return json
  }
  const budget =
    PAYLOAD_TARGET_BYTES - Buffer.byteLength(withTranscript({ ...plain, text: '', truncated: false }))
  return withTranscript({ ...plain, text: longestEscapedPrefix(plain.text, budget), truncated: true })
}
