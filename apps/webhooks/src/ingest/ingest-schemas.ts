import type { JsonSchema } from '@signet/http'
import { eventId, object } from '../schemas/schema-parts.js'

const optionalText = { type: ['string', 'null'] }
const optionalInteger = (maximum: number, minimum: number) => ({
  type: ['integer', 'null'],
  minimum,
  maximum,
})

const RECORDING_FIELDS = {
  report_id: optionalText,
  status: optionalInteger(2_147_483_647, -2_147_483_648),
  title: optionalText,
  duration_ms: optionalInteger(Number.MAX_SAFE_INTEGER, 0),
  recorded_at: { type: ['string', 'null'], format: 'date-time', description: 'RFC 3339' },
}

const RECORDING = { type: ['object', 'null'], properties: RECORDING_FIELDS }

const TRANSCRIPT = {
  type: ['object', 'null'],
  required: ['text'],
  properties: {
    language: optionalText,
    text: { type: 'string', examples: ['Good morning, everyone.'] },
    segments: {
      type: ['array', 'null'],
      items: {
        type: 'object',
        required: ['speaker', 'start', 'end', 'text'],
        properties: {
          speaker: { type: 'string', examples: ['Speaker 1'] },
          start: { type: 'number', description: 'Seconds' },
          end: { type: 'number', description: 'Seconds' },
          text: { type: 'string', examples: ['Good morning, everyone.'] },
        },
      },
    },
  },
}

const SUMMARIES = {
  type: ['array', 'null'],
  items: {
    type: 'object',
    required: ['label', 'content', 'format'],
    properties: {
      label: { type: 'string', examples: ['Summary'] },
      content: { type: 'string', examples: ['## Weekly sync'] },
      format: { type: 'string', description: '`markdown`, `html` or another word', examples: ['markdown'] },
      template_name: optionalText,
    },
  },
}

/** `POST /internal/v1/summary-ready` (docs/specification.md#internal-api). An omitted part stays as it is; null deletes it. */
export const summaryReadySchema: JsonSchema = {
  type: 'object',
  required: ['source_event_key', 'account_id', 'audio_id'],
  properties: {
    source_event_key: { type: 'string', minLength: 1, maxLength: 200, examples: ['summary:rec_1001:1'] },
    account_id: { type: 'string', format: 'uuid' },
    audio_id: { type: 'string', minLength: 1, maxLength: 128, examples: ['rec_1001'] },
    recording: RECORDING,
    transcript: TRANSCRIPT,
    summaries: SUMMARIES,
  },
}

/** `PUT /internal/v1/accounts/{account_id}/recordings/{audio_id}` has the same parts, and may contain the recording's fields directly. */
export const recordingSchema: JsonSchema = {
  type: 'object',
  properties: { ...RECORDING_FIELDS, recording: RECORDING, transcript: TRANSCRIPT, summaries: SUMMARIES },
}

export const revokeAccountSchema: JsonSchema = {
  type: 'object',
  properties: { reason: { type: 'string', minLength: 1, maxLength: 200, examples: ['account_revoked'] } },
}

const INGEST_RESULT = {
  event_id: eventId('The event, of the first notice when this one is a duplicate'),
  duplicate: { type: 'boolean' },
}

/** Components of the internal OpenAPI document. */
export const ingestComponents: Readonly<Record<string, JsonSchema>> = {
  IngestResult: object(INGEST_RESULT),
  BatchLine: {
    description: 'The response that the line would have got on its own, and its status',
    oneOf: [
      object({ status: { type: 'integer', enum: [200, 202] }, ...INGEST_RESULT }),
      {
        description: 'An error, in the form of the Error component',
        type: 'object',
        required: ['status', 'error'],
        properties: {
          status: { type: 'integer', enum: [400, 409, 410, 500, 503] },
          error: { $ref: '#/components/schemas/Error/properties/error' },
        },
      },
    ],
  },
}
