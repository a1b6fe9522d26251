import { route, type Route } from '@signet/http'
import { storable } from '../text/storable.js'
import type { Request } from 'express'
import { accountIdOf } from '../api/account-id.js'
import { notFound } from '../errors/api-errors.js'
import { ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import type { BodyAdmission } from './body-admission.js'
import { MAX_BODY_BYTES } from './body-sizes.js'
import type { IngestParser } from './ingest-parser.js'
import { recordingSchema, summaryReadySchema } from './ingest-schemas.js'
import type { IngestService } from './ingest-service.js'
import type { ServiceCaller } from '../api/service-caller.js'

type Deps = {
  authenticate: (req: Request) => ServiceCaller
  admission: BodyAdmission
  ingest: IngestService
  parser: IngestParser
}

const docs = { tag: 'Internal', security: ['service'] }

/** `/internal/v1` (docs/specification.md#internal-api), for the internal listener only. */
export const ingestRoutes = ({ authenticate, admission, ingest, parser }: Deps): Route[] => [
  admission.route({
    method: 'post',
    path: '/internal/v1/summary-ready',
    docs: {
      ...docs,
      operationId: 'publishSummaryReady',
      summary: 'Report that the summary of a recording is ready',
      description:
        'Idempotent per caller and `source_event_key`. The response is sent when the event and the recording are committed.',
      responses: responses(
        {
          202: { description: 'Accepted', schema: ref('IngestResult') },
          200: { description: 'The same content came before', schema: ref('IngestResult') },
        },
        400,
        401,
        409,
        410,
        413,
      ),
    },
    authenticate,
    body: { as: 'json-bytes', maxBytes: MAX_BODY_BYTES, schema: summaryReadySchema },
    async handle({ caller, body, context }) {
      const notice = await parser.summaryReady(body, ingest.newEvent())
      const { eventId, duplicate } = await ingest.summaryReady(caller, notice, context)
      return { status: duplicate ? 200 : 202, body: { event_id: eventId, duplicate } }
    },
  }),
  admission.route({
    method: 'put',
    path: '/internal/v1/accounts/:account_id/recordings/:audio_id',
    docs: {
      ...docs,
      operationId: 'putRecording',
      summary: 'Store a recording without an event',
      responses: responses({ 200: { description: 'Stored', schema: ref('Ok') } }, 400, 401, 404, 410, 413),
    },
    authenticate,
    guard: ({ req }) => void recordingOf(req),
    body: { as: 'json-bytes', maxBytes: MAX_BODY_BYTES, schema: recordingSchema },
    async handle({ caller, body, req, context }) {
      const recording = recordingOf(req)
      await ingest.putRecording(caller, recording, await parser.recording(body, recording.accountId), context)
      return { body: { ok: true } }
    },
  }),
  route<ServiceCaller>({
    method: 'delete',
    path: '/internal/v1/accounts/:account_id/recordings/:audio_id',
    docs: {
      ...docs,
      operationId: 'deleteRecording',
      summary: 'Delete a recording',
      description:
        'Also deletes the bodies of its events; pending deliveries end with `recording_deleted`. Deleting a missing recording succeeds.',
      responses: responses({ 200: { description: 'Deleted', schema: ref('Ok') } }, 401, 404),
    },
    authenticate,
    async handle({ caller, req, context }) {
      await ingest.deleteRecording(caller, recordingOf(req), context)
      return { body: { ok: true } }
    },
  }),
]

/** Returns the recording in the path. Anything that cannot be an account or a recording is a 404. */
function recordingOf(req: Request): { accountId: string; audioId: string } {
  const audioId = storable(String(req.params['audio_id']))
  if ([...audioId].length > 128) throw notFound()
  return { accountId: accountIdOf(req), audioId }
}
