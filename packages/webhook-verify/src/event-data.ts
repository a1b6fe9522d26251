// Generated from the event catalogue in packages/webhook-core by `npm run docs`; change that, not this file.

/** What is in `data`, by the type of the event. Only members without a question mark are promised. */
export type EventData = {
  /** Sent when the summaries of a recording are ready. */
  'summary.completed': {
    /** The only member that is always there */
    audio_id: string
    /** Absent for recordings that were analyzed automatically */
    report_id?: string
    /** Processing status */
    status?: number
    title?: string
    duration_ms?: number
    recorded_at?: string
    transcript?: {
      language?: string
      text: string
      /** The text was cut to keep the event near 1 MiB */
      truncated: boolean
      segments?: {
        speaker: string
        /** Seconds */
        start: number
        /** Seconds */
        end: number
        text: string
      }[]
    }
    summaries?: {
      label: string
      /** Untrusted user content */
      content: string
      /** `markdown` or `html`. Ignore formats you do not know. */
      format: string
      template_name?: string
    }[]
  }
  /** Sent when you send a test event to a webhook. */
  'webhook.ping': {
    endpoint_id: string
    message: string
  }
}
