import { isUtf8 } from 'node:buffer'
import type { BodyProblem } from '@signet/http'
import { newEventId } from '@signet/webhook-core'
import { compileSchema } from '@signet/http/schema'
import { storable } from '../text/storable.js'
import { encodeParts, utf8, type EncodedParts } from './encoded-parts.js'
import { canonicalHash } from './canonical-hash.js'
import { frozenBody } from './frozen-body.js'
import { recordingSchema, summaryReadySchema } from './ingest-schemas.js'
import { recordingParts, type RecordingBody, type SummaryReadyBody } from './recording-parts.js'
import { hasMoreValuesThan } from './json-values.js'
import { linesOf } from './json-lines.js'
import type { NewEvent, SummaryReady } from './summary-ready.js'
import { malformed, RefusedBodyError, tooLarge } from './refused-body-error.js'

export type IngestJob =
  | { kind: 'summary-ready'; bytes: Uint8Array; event: NewEvent }
  | { kind: 'batch'; bytes: Uint8Array; createdAt: Date }
  | { kind: 'recording'; bytes: Uint8Array }
/** Failures are values, so that they can be passed between threads. */
export type IngestResult<Value> = { problem: BodyProblem } | { value: Value }

const checkSummaryReady = compileSchema(summaryReadySchema)
const checkRecording = compileSchema(recordingSchema)

/** Parses and checks the body of a summary-ready notice, and prepares it for storing. */
export const readSummaryReady = (bytes: Uint8Array, event: NewEvent): IngestResult<SummaryReady> =>
  asResult(() => {
    refuseTooManyValues(bytes)
    return summaryReady(bytes, event)
  })

/** The same for one notice per line. Empty lines are skipped. A line that is refused is one of the results. */
export const readBatch = (bytes: Uint8Array, createdAt: Date): IngestResult<IngestResult<SummaryReady>[]> =>
  asResult(() => {
    refuseTooManyValues(bytes)
    return linesOf(bytes).map((line) =>
      asResult(() => {
        if (!isUtf8(line)) throw malformed('The line is not valid UTF-8')
        return summaryReady(line, { id: newEventId(createdAt), createdAt })
      }),
    )
  })

function summaryReady(bytes: Uint8Array, event: NewEvent): SummaryReady {
  const notice = parse<SummaryReadyBody>(bytes, checkSummaryReady)
  const audioId = storable(notice.audio_id)
  const parts = recordingParts(notice)
  const body = frozenBody(event, audioId, parts)
  return {
    event,
    sourceEventKey: storable(notice.source_event_key),
    accountId: notice.account_id.toLowerCase(),
    audioId,
    hash: canonicalHash(notice),
    parts: encodeParts(parts),
    body: body === null ? null : utf8(body),
  }
}

/** The same for the body of `PUT` of a recording. */
export const readRecording = (bytes: Uint8Array): IngestResult<EncodedParts> =>
  asResult(() => {
    refuseTooManyValues(bytes)
    return encodeParts(recordingParts(flattened(parse<RecordingBody>(bytes, checkRecording))))
  })

/** The body of a PUT may contain the recording's fields directly instead of in `recording`. */
function flattened(body: RecordingBody): RecordingBody {
  if (body.recording !== undefined) return body
  const { report_id, status, title, duration_ms, recorded_at } = body
  const fields = { report_id, status, title, duration_ms, recorded_at }
  return Object.values(fields).some((value) => value !== undefined) ? { ...body, recording: fields } : body
}

/**
 * Each value takes at most a few hundred bytes of heap, so together they take less than a thread may use. A day of speech has a tenth
 * of this number. Each value takes at least one byte of the text.
 */
const MAX_VALUES = 1_500_000

function refuseTooManyValues(bytes: Uint8Array): void {
  if (bytes.length > MAX_VALUES && hasMoreValuesThan(MAX_VALUES, bytes))
    throw tooLarge('The body has too many values')
}

function parse<Body>(bytes: Uint8Array, check: (value: unknown) => BodyProblem | null): Body {
  const value = parseJson(decoder.decode(bytes))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('This must be a JSON object')
  const problem = check(value)
  if (problem) throw new RefusedBodyError(problem)
  return value as Body
}

const decoder = new TextDecoder()

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('This is not valid JSON')
  }
}

function asResult<Value>(read: () => Value): IngestResult<Value> {
  try {
    return { value: read() }
  } catch (error) {
    if (error instanceof RefusedBodyError) return { problem: error.problem }
    throw error
  }
}
