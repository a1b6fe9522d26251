import { type EventType } from '@signet/webhook-core'

/** One invented event of a type, every field present, for accounts that have none of their own (webhooks contract E.7). */
export function syntheticSample(type: EventType): object {
  return {
    id: `evt_sample_${type.replaceAll('.', '_')}`,
    type,
    created_at: '2026-01-01T09:31:02.000Z',
    data: DATA[type],
  }
}

const DATA: Record<EventType, object> = {
  'summary.completed': {
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
  },
  'webhook.ping': { endpoint_id: '42', message: 'This is a test event.' },
}
