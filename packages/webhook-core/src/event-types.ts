/** The event types of API version 1. Subscribing to `webhook.ping` is allowed and has no effect (contract E.2). */
export const eventTypes = ['summary.completed', 'webhook.ping'] as const
export type EventType = (typeof eventTypes)[number]

export const isEventType = (value: unknown): value is EventType =>
  typeof value === 'string' && (eventTypes as readonly string[]).includes(value)
