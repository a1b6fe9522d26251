import { isAppError, type AppError } from '@signet/errors'
import { statusOf, type Route } from '@signet/http'
import type { RequestMeta } from '@signet/telemetry'
import type { Request } from 'express'
import type { ServiceCaller } from '../api/service-caller.js'
import { ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import { v1ErrorRenderer } from '../http/v1-error-renderer.js'
import type { BodyAdmission } from './body-admission.js'
import { MAX_BODY_BYTES } from './body-sizes.js'
import type { IngestParser } from './ingest-parser.js'
import { summaryReadySchema } from './ingest-schemas.js'
import type { IngestService } from './ingest-service.js'
import { MAX_LINES } from './json-lines.js'
import type { SummaryReady } from './summary-ready.js'

type Deps = {
  authenticate: (req: Request) => ServiceCaller
  admission: BodyAdmission
  ingest: IngestService
  parser: IngestParser
  /** Converts errors that are not the API's own, as the error handler does. */
  translate: (error: unknown) => AppError | undefined
}

const NDJSON = 'application/x-ndjson'

/** Many notices in one request (docs/specification.md#internal-api), each processed like a single one. */
export const batchRoutes = ({ authenticate, admission, ingest, parser, translate }: Deps): Route[] => [
  admission.route({
    method: 'post',
    path: '/internal/v1/summary-ready/batch',
    docs: {
      tag: 'Internal',
      security: ['service'],
      operationId: 'publishSummariesReady',
      summary: 'Report many summaries at once',
      description: `NDJSON: in each line the body of a single notice, at most ${MAX_LINES} lines; blank ones are skipped. Lines succeed and fail by themselves. The response is sent when every line has its result, and has one line for each, in their order. Repeat a request without a response unchanged: lines that were stored are duplicates then.`,
      responses: responses(
        {
          200: {
            description: 'One result per line',
            schema: ref('BatchLine'),
            mediaType: NDJSON,
          },
        },
        400,
        401,
        413,
      ),
    },
    authenticate,
    body: { as: 'ndjson-bytes', maxBytes: MAX_BODY_BYTES, schema: summaryReadySchema },
    async handle({ caller, body, req, context }) {
      const lines = await parser.batch(body, ingest.newEvent().createdAt)
      const results = await Promise.all(
        lines.map((line) => resultOf(line, { caller, ingest, translate, req, meta: context })),
      )
      const text = results.map((result) => `${JSON.stringify(result)}\n`).join('')
      return { headers: { 'Content-Type': NDJSON }, body: text }
    },
  }),
]

type LineDeps = Pick<Deps, 'ingest' | 'translate'> & {
  caller: ServiceCaller
  req: Request
  meta: RequestMeta
}

/** The response that the notice would have got in its own request, with its status in the line. */
async function resultOf(
  line: SummaryReady | AppError,
  { caller, ingest, translate, req, meta }: LineDeps,
): Promise<object> {
  try {
    if (isAppError(line)) throw line
    const { eventId, duplicate } = await ingest.summaryReady(caller, line, meta)
    return { status: duplicate ? 200 : 202, event_id: eventId, duplicate }
  } catch (thrown) {
    const error = isAppError(thrown) ? thrown : (translate(thrown) ?? v1ErrorRenderer.unexpected(thrown))
    const status = statusOf(error)
    if (status >= 500) ingest.reportFailedLine(error.cause ?? error, meta)
    return { status, ...(v1ErrorRenderer.render(error, req).body as object) }
  }
}
