import { type Db } from '@signet/db'
import { type FrozenEvent, type QueuedEvent } from '../stores/event-store.js'
import { type RecordingRef, type SummaryFields } from '../stores/recording-store.js'
import {
  freezePing,
  freezeSummaryCompleted,
  type SummaryCompletedData,
  type SummaryCompleted,
} from './envelope.js'
import { type MarkdownFailure, type MarkdownOutcome } from './markdown-converter.js'
import {
  ENRICHMENT_TIMEOUT_MS,
  mirrorReader,
  readMirror,
  type MirrorPart,
  type MirrorParts,
  type MirrorReader,
} from './mirror-reader.js'

/** A part that is missing from a payload, or HTML that stayed HTML. Never carries text of the recording. */
export type PayloadProblem =
  | { part: MirrorPart; ref: RecordingRef; error: unknown }
  | { part: 'markdown'; ref: RecordingRef; error: MarkdownFailure }

export type BodyBuilderOptions = {
  /** For the mirror alone: its server ends statements after `ENRICHMENT_TIMEOUT_MS`, too. */
  db: Pick<Db, 'until'>
  markdown: { convert(html: string): Promise<MarkdownOutcome> }
  /** Called for every problem; the event is sent all the same. */
  onProblem?: (problem: PayloadProblem) => void
  /** For reading one part of the mirror. */
  enrichmentTimeoutMs?: number
  reader?: MirrorReader
}

/** Builds the bodies of events, as text that is frozen once and sent to every endpoint (contract F.2). */
export class BodyBuilder {
  readonly #markdown: BodyBuilderOptions['markdown']
  readonly #onProblem: (problem: PayloadProblem) => void
  readonly #reader: MirrorReader
  readonly #timeoutMs: number

  constructor({ db, markdown, onProblem, enrichmentTimeoutMs, reader }: BodyBuilderOptions) {
    this.#markdown = markdown
    this.#onProblem = onProblem ?? (() => undefined)
    this.#reader = reader ?? mirrorReader(db)
    this.#timeoutMs = enrichmentTimeoutMs ?? ENRICHMENT_TIMEOUT_MS
  }

  /** The body of each event, in their order. Missing parts never make it reject: only `audio_id` is promised. */
  async build(events: readonly QueuedEvent[]): Promise<FrozenEvent[]> {
    const refs = events.map(refOf)
    const parts = await readMirror(
      refs.filter((ref) => ref !== null),
      {
        reader: this.#reader,
        timeoutMs: this.#timeoutMs,
        onFailure: (part, ref, error) => this.#onProblem({ part, ref, error }),
      },
    )
    let next = 0
    const withParts = events.map((event, i) => ({
      event,
      ref: refs[i] ?? null,
      parts: refs[i] ? parts[next++] : undefined,
    }))
    return Promise.all(
      withParts.map(async ({ event, ref, parts }) => ({
        id: event.id,
        body: ref && parts ? await this.#summaryCompleted(event, ref, parts) : ping(event),
      })),
    )
  }

  async #summaryCompleted(event: QueuedEvent, ref: RecordingRef, parts: MirrorParts): Promise<string> {
    const summaries = await Promise.all(parts.summaries.map((summary) => this.#inMarkdown(summary, ref)))
    return freezeSummaryCompleted({
      id: event.id,
      type: 'summary.completed',
      created_at: event.createdAt.toISOString(),
      data: payloadData(ref.audioId, { ...parts, summaries }),
    })
  }

  async #inMarkdown(summary: SummaryFields, ref: RecordingRef): Promise<SummaryFields> {
    if (summary.format.toLowerCase() !== 'html') return summary
    const outcome = await this.#markdown.convert(summary.content)
    if ('markdown' in outcome) return { ...summary, content: outcome.markdown, format: 'markdown' }
    this.#onProblem({ part: 'markdown', ref, error: outcome.failure })
    return summary
  }
}

/** A recording as sample of its event, summaries as they are stored (contract E.7). */
export function recordingSample(ref: RecordingRef, parts: MirrorParts, now: Date): SummaryCompleted {
  return {
    id: `evt_sample_${ref.audioId}`,
    type: 'summary.completed',
    created_at: now.toISOString(),
    data: payloadData(ref.audioId, parts),
  }
}

const refOf = ({ type, accountId, audioId }: QueuedEvent): RecordingRef | null =>
  type === 'summary.completed' && audioId !== null ? { accountId, audioId } : null

const ping = ({ id, createdAt, targetEndpointId }: QueuedEvent): string =>
  freezePing({ id, createdAt, endpointId: targetEndpointId ?? '' })

/** In the order of contract A.5; what is unknown is left out. */
function payloadData(
  audioId: string,
  { recording, transcript, summaries }: MirrorParts,
): SummaryCompletedData {
  return {
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
  }
}
