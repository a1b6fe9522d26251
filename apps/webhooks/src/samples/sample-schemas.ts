import { type JsonSchema } from '@signet/http'

/** Components of the OpenAPI document. */
export const sampleComponents: Readonly<Record<string, JsonSchema>> = {
  Event: {
    type: 'object',
    required: ['id', 'type', 'created_at', 'data'],
    properties: {
      id: {
        type: 'string',
        description: 'Unique: drop what you have seen. Samples begin with `evt_sample_`.',
      },
      type: { type: 'string', description: '`summary.completed` or `webhook.ping`' },
      created_at: { type: 'string', format: 'date-time' },
      data: {
        type: 'object',
        description: 'By type. Of `summary.completed` only `audio_id` is guaranteed.',
        properties: {
          audio_id: { type: 'string' },
          report_id: {
            type: 'string',
            description: 'Absent for recordings that were analyzed automatically',
          },
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
                content: { type: 'string', description: 'Untrusted content of users' },
                format: { type: 'string', description: '`markdown`, `html`; tolerate other words' },
                template_name: { type: 'string' },
              },
            },
          },
        },
      },
    },
  },
}
