import { route, type Route } from '@signet/http'
import { isSigned } from '@signet/standard-webhooks'
import { badRequest, ChallengeError } from '../errors/api-errors.js'
import { responses } from '../api/v1-docs.js'
import { accountEventSchema, readAccountEvent } from './account-event-body.js'
import type { AccountEventService } from './account-event-service.js'

type Deps = { keys: readonly Buffer[]; accountEvents: AccountEventService; now: () => Date }

const MAX_BYTES = 16 * 1024

/** Receives account events from the identity server. For the internal listener only. */
export const accountEventRoutes = ({ keys, accountEvents, now }: Deps): Route[] => [
  route<undefined, Buffer>({
    method: 'post',
    path: '/internal/v1/account-events',
    docs: {
      tag: 'Accounts',
      operationId: 'receiveAccountEvent',
      summary: 'Receive a ban, its end, a sign-out or a deletion',
      description:
        'From the identity server, signed as Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. May be repeated and come in any order.',
      responses: responses({ 204: { description: 'Applied' } }, 400, 401, 413),
    },
    body: { as: 'json-bytes', maxBytes: MAX_BYTES, schema: accountEventSchema },
    async handle({ req, body, context }) {
      const headers = {
        'webhook-id': req.get('webhook-id'),
        'webhook-timestamp': req.get('webhook-timestamp'),
        'webhook-signature': req.get('webhook-signature'),
      }
      if (!isSigned(body, headers, { keys, now: now() })) throw unsigned()
      const event = readAccountEvent(body)
      if (event === 'malformed') throw badRequest('The body is not an account event')
      if (event === 'unknown') accountEvents.ignore(context)
      else await accountEvents.apply(event, context)
      return { status: 204 }
    },
  }),
]

const unsigned = () =>
  new ChallengeError(
    'unauthenticated',
    'The signature is missing, wrong or too old',
    'StandardWebhooks realm="internal"',
  )
