import type { JsonSchema } from '@signet/http'

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
  recorded_at: { type: ['string', 'null'], description: 'RFC 3339 date and time' },
}

const RECORDING = { type: ['object', 'null'], properties: RECORDING_FIELDS }

const TRANSCRIPT = {
  type: ['object', 'null'],
  required: ['text'],
  properties: {
    language: optionalText,
    text: { type: 'string' },
    segments: {
      type: ['array', 'null'],
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
}

const SUMMARIES = {
  type: ['array', 'null'],
  items: {
    type: 'object',
    required: ['label', 'content', 'format'],
    properties: {
      label: { type: 'string' },
      content: { type: 'string' },
      format: { type: 'string', description: '`markdown`, `html` or another word' },
      template_name: optionalText,
    },
  },
}

/** `POST /internal/v1/summary-ready` (docs/specification.md#internal-api). A part that is left out stays as it is, null deletes it. */
export const summaryReadySchema: JsonSchema = {
  type: 'object',
  required: ['source_event_key', 'account_id', 'audio_id'],
  properties: {
    source_event_key: { type: 'string', minLength: 1, maxLength: 200 },
    account_id: { type: 'string', pattern: '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' },
    audio_id: { type: 'string', minLength: 1, maxLength: 128 },
    recording: RECORDING,
    transcript: TRANSCRIPT,
    summaries: SUMMARIES,
  },
}

/** `PUT /internal/v1/accounts/{account_id}/recordings/{audio_id}`: the same parts; recording fields may stand alone. */
export const recordingSchema: JsonSchema = {
  type: 'object',
  properties: { ...RECORDING_FIELDS, recording: RECORDING, transcript: TRANSCRIPT, summaries: SUMMARIES },
}

export const revokeAccountSchema: JsonSchema = {
  type: 'object',
  properties: { reason: { type: 'string', minLength: 1, maxLength: 200 } },
}

/** Components of the internal OpenAPI document. */
export const ingestComponents: Readonly<Record<string, JsonSchema>> = {
  IngestResult: {
    type: 'object',
    required: ['event_id', 'duplicate'],
    properties: {
      event_id: { type: 'string', description: '`evt_…`; of the first notice when this one is a duplicate' },
      duplicate: { type: 'boolean' },
    },
  },
  BatchLine: {
    type: 'object',
    description: 'The response that the line would have got on its own, and its status',
    required: ['status'],
    properties: { status: { type: 'integer', description: '202, 200, 400, 409, 410, 500 or 503' } },
    oneOf: [{ $ref: '#/components/schemas/IngestResult' }, { $ref: '#/components/schemas/Error' }],
  },
}
