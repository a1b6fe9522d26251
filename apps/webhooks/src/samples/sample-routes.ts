import { route, type Route } from '@signet/http'
import { eventTypes } from '@signet/webhook-core'
import type { Caller } from '../bearer/bearer-service.js'
import { knownType } from '../endpoints/event-list.js'
import { badRequest } from '../errors/api-errors.js'
import type { Limits } from '../limits/limits.js'
import { numberParameter, textParameter } from '../api/query.js'
import { listOf, ref } from '../schemas/schema-parts.js'
import { responses } from '../api/v1-docs.js'
import type { V1Steps } from '../api/v1-pipeline.js'
import type { SampleService } from './sample-service.js'

type Deps = { steps: V1Steps; limits: Pick<Limits, 'samples'>; samples: SampleService }

/** `GET /v1/webhook-events/samples` (docs/specification.md#samples). */
export const sampleRoutes = ({ steps, limits, samples }: Deps): Route[] => [
  route<Caller>({
    method: 'get',
    path: '/v1/webhook-events/samples',
    docs: {
      tag: 'Samples',
      security: ['bearer'],
      operationId: 'listEventSamples',
      effect: 'read',
      summary: 'See what events look like',
      description:
        'Recent events of the account, else its recordings as events, else one invented event. Nothing is delivered. Older samples may contain HTML summaries.',
      parameters: [
        {
          name: 'event',
          in: 'query',
          schema: { type: 'string', enum: eventTypes, default: 'summary.completed' },
          description: 'An event type.',
        },
        {
          name: 'limit',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: 999_999, default: 3 },
          description: 'At most 10; more counts as 10. There may be fewer if events are very large.',
        },
      ],
      responses: responses(
        { 200: { description: 'At least one event', schema: listOf(ref('Event')) } },
        400,
        401,
        403,
        429,
      ),
    },
    ...steps.read,
    guard({ caller, context: { end, maxAnswerLength = Infinity } }) {
      // Results of tools have a limit of their own, because several can share one response.
      if (maxAnswerLength === Infinity) limits.samples.admit(caller.accountId, end)
    },
    async handle({ caller, req, context: { maxAnswerLength } }) {
      const given = textParameter(req, 'event') ?? 'summary.completed'
      if (given === '')
        throw badRequest(`event is empty: leave it out, or use one of ${eventTypes.join(', ')}`)
      const type = knownType(given)
      const limit = numberParameter(req, 'limit', { fallback: 3, max: 10 })
      const bodies = await samples.list(caller.accountId, type, { limit, maxLength: maxAnswerLength })
      // Each body is already JSON, as it was sent, so parsing and serializing ten mebibytes would be a waste.
      return { headers: { 'Content-Type': 'application/json; charset=utf-8' }, body: `[${bodies.join(',')}]` }
    },
  }),
]
