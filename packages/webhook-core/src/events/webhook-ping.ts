import { envelopeOf, type EndpointEvent } from './event-definition.js'

const MESSAGE = 'This is a test event.'

/** Sent to one endpoint, no matter which events it subscribed to (apps/webhooks/docs/specification.md#webhookping). */
export const webhookPing: EndpointEvent = {
  sentWhen: { en: 'you send a test event to a webhook', de: 'Sie ein Testereignis an einen Webhook senden' },
  properties: { endpoint_id: { type: 'string' }, message: { type: 'string' } },
  required: ['endpoint_id', 'message'],
  sample: { endpoint_id: '42', message: MESSAGE },
  subject: 'endpoint',
  build: (header, { endpointId }) =>
    JSON.stringify(envelopeOf('webhook.ping', header, { endpoint_id: endpointId, message: MESSAGE })),
}
