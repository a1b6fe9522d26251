import type { Db } from '@signet/db'
import { definitionOf } from '@signet/webhook-core'
import {
  ENRICHMENT_TIMEOUT_MS,
  readRecordings,
  recordingReader,
  type RecordingContent,
  type RecordingPart,
  type RecordingReader,
  type RecordingRef,
  type SummaryFields,
} from '@signet/webhook-core/stores'
import type { FrozenEvent, QueuedEvent } from '../events/event-store.js'
import type { MarkdownFailure, MarkdownOutcome } from './markdown-converter.js'

/** A part missing from a payload, or HTML that could not be converted. Never contains text of the recording. */
export type PayloadProblem =
  | { part: RecordingPart; ref: RecordingRef; error: unknown }
  | { part: 'markdown'; ref: RecordingRef; error: MarkdownFailure }

export type BodyBuilderOptions = {
  /** Reads only recordings. Its `statement_timeout` should also be `ENRICHMENT_TIMEOUT_MS`. */
  db: Pick<Db, 'until'>
  markdown: { convert(html: string): Promise<MarkdownOutcome> }
  /** Called for every problem. The event is sent anyway. */
  onProblem?: (problem: PayloadProblem) => void
  /** Time limit for reading one part. */
  enrichmentTimeoutMs?: number
  reader?: RecordingReader
}

/** Builds the bodies of events: text that is frozen once and sent to every endpoint. */
export class BodyBuilder {
  readonly #markdown: BodyBuilderOptions['markdown']
  readonly #onProblem: (problem: PayloadProblem) => void
  readonly #reader: RecordingReader
  readonly #timeoutMs: number

  constructor({ db, markdown, onProblem, enrichmentTimeoutMs, reader }: BodyBuilderOptions) {
    this.#markdown = markdown
    this.#onProblem = onProblem ?? (() => undefined)
    this.#reader = reader ?? recordingReader(db)
    this.#timeoutMs = enrichmentTimeoutMs ?? ENRICHMENT_TIMEOUT_MS
  }

  /** The body of each event, in order. Never rejects because of missing parts: only `audio_id` is guaranteed. */
  async build(events: readonly QueuedEvent[]): Promise<FrozenEvent[]> {
    const refs = events.map(recordingOf)
    const contents = await readRecordings(
      refs.filter((ref) => ref !== null),
      {
        reader: this.#reader,
        timeoutMs: this.#timeoutMs,
        onFailure: (part, ref, error) => this.#onProblem({ part, ref, error }),
      },
    )
    let next = 0
    const withContent = events.map((event, i) => ({
      event,
      ref: refs[i] ?? null,
      content: refs[i] ? contents[next++] : undefined,
    }))
    return Promise.all(
      withContent.map(async ({ event, ref, content }) => ({
        id: event.id,
        body: await this.#bodyOf(event, ref, content),
      })),
    )
  }

  async #bodyOf(
    event: QueuedEvent,
    ref: RecordingRef | null,
    content: RecordingContent | undefined,
  ): Promise<string> {
    const definition = definitionOf(event.type)
    switch (definition.subject) {
      case 'recording': {
        if (!ref || !content) throw new Error(`event ${event.id} names no recording`)
        const summaries = await Promise.all(
          content.summaries.map((summary) => this.#inMarkdown(summary, ref)),
        )
        return definition.build(event, { audioId: ref.audioId, ...content, summaries })
      }
      case 'endpoint':
        if (event.targetEndpointId === null) throw new Error(`event ${event.id} names no endpoint`)
        return definition.build(event, { endpointId: event.targetEndpointId })
    }
  }

  async #inMarkdown(summary: SummaryFields, ref: RecordingRef): Promise<SummaryFields> {
    if (summary.format.toLowerCase() !== 'html') return summary
    const outcome = await this.#markdown.convert(summary.content)
    if ('markdown' in outcome) return { ...summary, content: outcome.markdown, format: 'markdown' }
    this.#onProblem({ part: 'markdown', ref, error: outcome.failure })
    return summary
  }
}

const recordingOf = ({ type, accountId, audioId }: QueuedEvent): RecordingRef | null =>
  definitionOf(type).subject === 'recording' && audioId !== null ? { accountId, audioId } : null
