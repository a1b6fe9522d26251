export const deliveryStatus = { pending: 0, delivered: 1, failed: 2 } as const
export type DeliveryStatus = (typeof deliveryStatus)[keyof typeof deliveryStatus]

export const endpointStatus = { active: 1, disabled: 2 } as const
export type EndpointStatus = (typeof endpointStatus)[keyof typeof endpointStatus]

export type EventState = 'queued' | 'dispatched' | 'purged'
