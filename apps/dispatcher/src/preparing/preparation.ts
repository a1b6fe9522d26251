import { definitionOf, isHtml, type EventCatalogue, type EventDefinition } from '@signet/webhook-core'
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
  conversions: Pick<ConversionScheduler, 'mayWait' | 'deferMs' | 'convertAll'>
  /** For tests, which add event types of their own. */
  catalogue?: EventCatalogue | undefined
}

type ContentDefinition = Extract<EventDefinition, { endsWithRecording: true }>
type EndpointDefinition = Extract<EventDefinition, { subject: 'endpoint' }>

/** An event to build, and the recording whose content goes into its body. */
type ContentRequest = {
  event: QueuedEvent & { bytes?: number }
  ref: RecordingRef
  definition: ContentDefinition
}

export type PreparationOptions = {
  deferredFor?: EventDeferralReason | undefined
  reserve?: (bytes: number) => { deferMs: number } | undefined
}

/** Events that hold the content of a recording in memory without waiting for a conversion. */
const MAX_LOADED_EVENTS = 128

/**
 * Builds the body of an event that came without one: reads the parts that its notice brought, and from the recording those that it left
 * out, and converts HTML. Events of other accounts, and those that came with a body, never wait for that.
 */
export class Preparation {
  readonly #loading = new AccountBudget({ size: MAX_LOADED_EVENTS, timesFree: 3 })

  constructor(private readonly deps: PreparationDeps) {}

  /**
   * Passes the body to `use`, or returns for how long to defer the event because there is no room for it. A part of the recording that is
   * missing or cannot be read is left out of the body, which is not an error.
   *
   * - `deferredFor`: why the event was deferred the last time.
   * - `reserve`: gets the size of a large recording before that is read, and may answer that the event has to wait for room.
   */
  async run<T>(
    event: QueuedEvent & { bytes?: number },
    options: PreparationOptions,
    use: (prepared: PreparedBody) => Promise<T>,
  ): Promise<T | Deferral> {
    const definition = definitionOf(event.type, this.deps.catalogue)
    switch (definition.subject) {
      case 'recording': {
        const ref = recordingOf(event)
        if (definition.endsWithRecording) return this.#withContent({ event, ref, definition }, options, use)
        return use(bodyOf(definition.build(event, { audioId: ref.audioId })))
      }
      case 'endpoint':
        return use(bodyOf(endpointBody(event, definition)))
    }
  }

  async #withContent<T>(
    request: ContentRequest,
    { deferredFor, reserve = () => undefined }: PreparationOptions,
    use: (prepared: PreparedBody) => Promise<T>,
  ): Promise<T | Deferral> {
    const { conversions } = this.deps
    const { accountId } = request.ref
    // The last time it was read, it had HTML. Do not read it again, a mebibyte perhaps, only to find that there is still no room.
    if (deferredFor === 'conversions_full' && !conversions.mayWait(accountId))
      return { deferMs: conversions.deferMs(accountId), reason: 'conversions_full' }
    const { release } = await this.#loading.acquire(accountId)
    try {
      const built = await this.#build(request, reserve, release)
      return 'deferMs' in built ? built : await use(built)
    } finally {
      release()
    }
  }

  /** A separate method, so that the content of the recording can be freed when it returns, while the body is still in use. */
  async #build(
    request: ContentRequest,
    reserve: NonNullable<PreparationOptions['reserve']>,
    release: () => void,
  ): Promise<PreparedBody | Deferral> {
    const { parts, conversions } = this.deps
    const { event, ref, definition } = request
    const measured = event.bytes === undefined ? (event.given?.summaryBytes ?? (await parts.measure(ref))) : 0
    const isLarger = measured >= LARGE_EVENT_BYTES
    const full = isLarger && reserve(measured)
    if (full) return { ...full, reason: 'account_full' }
    const content = await parts.read(
      { ...ref, givenTo: event.given && event.id },
      isLarger ? measured : event.bytes,
    )
    if (!content.summaries.some(isHtml))
      return bodyOf(definition.build(event, { audioId: ref.audioId, ...content }))
    release()
    if (!conversions.mayWait(event.accountId))
      return { deferMs: conversions.deferMs(event.accountId), reason: 'conversions_full' }
    return this.#convert(request, content)
  }

  async #convert(
    { event, ref, definition }: ContentRequest,
    content: RecordingContent,
  ): Promise<PreparedBody> {
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
    return bodyOf(definition.build(event, { audioId: ref.audioId, ...content, summaries }), unconverted)
  }
}

const bodyOf = (json: string, unconverted: UnconvertedReason | null = null): PreparedBody => ({
  body: Buffer.from(json),
  unconverted,
})

function recordingOf({ id, accountId, audioId }: QueuedEvent): RecordingRef {
  if (audioId === null) throw new Error(`event ${id} names no recording`)
  return { accountId, audioId }
}

function endpointBody(event: QueuedEvent, definition: EndpointDefinition): string {
  if (event.targetEndpointId === null) throw new Error(`event ${event.id} names no endpoint`)
  return definition.build(event, { endpointId: event.targetEndpointId })
}
