import { definitionOf, isHtml } from '@signet/webhook-core'
import { LARGE_EVENT_BYTES, type EventDeferralReason } from '@signet/webhook-core/queue'
import type { RecordingContent, RecordingRef } from '@signet/webhook-core/stores'
import type { QueuedEvent } from '../events/event-store.js'
import { AccountBudget } from '../fairness/account-budget.js'
import type { ConversionScheduler, UnconvertedReason } from './conversion-scheduler.js'
import type { PartsReader } from './parts-reader.js'

/** `unconverted`: why it carries HTML that should be Markdown. */
export type PreparedBody = { body: Buffer; unconverted: UnconvertedReason | null }
export type Deferral = { deferMs: number; reason: EventDeferralReason }

export type PreparationDeps = {
  parts: Pick<PartsReader, 'measure' | 'read'>
  conversions: Pick<ConversionScheduler, 'hasRoomFor' | 'deferMs' | 'convertAll'>
}

export type PreparationOptions = {
  deferredFor?: EventDeferralReason | undefined
  reserve?: (bytes: number) => { deferMs: number } | undefined
}

/** Events that hold the content of a recording in memory without waiting for a conversion. */
const MAX_LOADED_EVENTS = 128

/**
 * Builds the bodies of events that came without one: reads what their notices brought and what those left out, converts HTML.
 * Events of other accounts, and those that came with a body, never wait for it.
 */
export class Preparation {
  readonly #loading = new AccountBudget({ size: MAX_LOADED_EVENTS, timesFree: 3 })

  constructor(private readonly deps: PreparationDeps) {}

  /**
   * Passes the body to `use`, or says when to come back: the event needs a conversion, and others wait for theirs.
   * `deferredFor`: why it was deferred the last time. `reserve` is told how large its recording is, before that is read, and may say how
   * long to wait for room. Never rejects because of missing parts: only `audio_id` is guaranteed.
   */
  async run<T>(
    event: QueuedEvent & { bytes?: number },
    { deferredFor, reserve = () => undefined }: PreparationOptions,
    use: (prepared: PreparedBody) => Promise<T>,
  ): Promise<T | Deferral> {
    const { conversions } = this.deps
    const { accountId } = event
    const ref = recordingOf(event)
    if (!ref) return use({ body: Buffer.from(pingBody(event)), unconverted: null })
    // It has HTML. Avoids reading a mebibyte again only to find that there is still no room.
    if (deferredFor === 'conversions_full' && !conversions.hasRoomFor(accountId))
      return { deferMs: conversions.deferMs(accountId), reason: 'conversions_full' }
    const { release } = await this.#loading.acquire(accountId)
    try {
      const built = await this.#build(event, ref, reserve, release)
      return 'deferMs' in built ? built : await use(built)
    } finally {
      release()
    }
  }

  /** On its own, so that nothing of the recording but the body is in memory while that is used. */
  async #build(
    event: QueuedEvent & { bytes?: number },
    ref: RecordingRef,
    reserve: NonNullable<PreparationOptions['reserve']>,
    release: () => void,
  ): Promise<PreparedBody | Deferral> {
    const { parts, conversions } = this.deps
    const measured = event.bytes === undefined ? (event.given?.summaryBytes ?? (await parts.measure(ref))) : 0
    const isLarger = measured >= LARGE_EVENT_BYTES
    const full = isLarger && reserve(measured)
    if (full) return { ...full, reason: 'account_full' }
    const content = await parts.read(
      { ...ref, givenTo: event.given && event.id },
      isLarger ? measured : event.bytes,
    )
    if (!content.summaries.some(isHtml)) return prepared(event, ref, content, null)
    release()
    if (!conversions.hasRoomFor(event.accountId))
      return { deferMs: conversions.deferMs(event.accountId), reason: 'conversions_full' }
    return this.#convert(event, ref, content)
  }

  async #convert(event: QueuedEvent, ref: RecordingRef, content: RecordingContent): Promise<PreparedBody> {
    const documents = content.summaries.filter(isHtml).map((summary) => summary.content)
    const outcomes = await this.deps.conversions.convertAll(event.accountId, documents)
    let unconverted: UnconvertedReason | null = null
    let next = 0
    const summaries = content.summaries.map((summary) => {
      const outcome = isHtml(summary) ? outcomes[next++] : undefined
      if (outcome === undefined) return summary
      if ('markdown' in outcome) return { ...summary, content: outcome.markdown, format: 'markdown' }
      unconverted ??= outcome.failure
      return summary
    })
    return prepared(event, ref, { ...content, summaries }, unconverted)
  }
}

function recordingOf({ id, type, accountId, audioId }: QueuedEvent): RecordingRef | null {
  if (definitionOf(type).subject !== 'recording') return null
  if (audioId === null) throw new Error(`event ${id} names no recording`)
  return { accountId, audioId }
}

function prepared(
  event: QueuedEvent,
  { audioId }: RecordingRef,
  content: RecordingContent,
  unconverted: UnconvertedReason | null,
): PreparedBody {
  const definition = definitionOf(event.type)
  if (definition.subject !== 'recording') throw new Error(`event ${event.id} is not about a recording`)
  return { body: Buffer.from(definition.build(event, { audioId, ...content })), unconverted }
}

function pingBody(event: QueuedEvent): string {
  const definition = definitionOf(event.type)
  if (definition.subject !== 'endpoint' || event.targetEndpointId === null)
    throw new Error(`event ${event.id} names no endpoint`)
  return definition.build(event, { endpointId: event.targetEndpointId })
}
