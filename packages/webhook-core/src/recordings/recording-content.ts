/** Identifies a recording. Audio ids are unique per account. */
export type RecordingRef = { accountId: string; audioId: string }

export type RecordingFields = {
  reportId?: string
  status?: number
  title?: string
  durationMs?: number
  recordedAt?: Date
}

/** `start` and `end` in seconds. */
export type TranscriptSegment = { speaker: string; start: number; end: number; text: string }
export type TranscriptFields = { language?: string; text: string; segments?: TranscriptSegment[] }
export type SummaryFields = { label: string; content: string; format: string; templateName?: string }

/** The three parts of a payload that come from stored recordings. Each is read, and can fail, independently. */
export type RecordingPart = 'recording' | 'transcript' | 'summaries'

export type RecordingContent = {
  recording: RecordingFields | null
  transcript: TranscriptFields | null
  summaries: SummaryFields[]
}
