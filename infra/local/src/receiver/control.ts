import type { Routes } from '../web-server.js'
import type { Hook, ReceivedDelivery, Receiver } from './receiver.js'

/** A delivery as the control API shows it: the body stays at its own address, it may be megabytes. */
export type DeliveryView = Omit<ReceivedDelivery, 'body' | 'event'> & {
  bytes: number
  eventId: string
  eventType: string
}

/**
 * An API for programs that do not run in the receiver's process:
 * `PUT /api/hooks` `{path, secret?, answers?, otherwise?}`, `GET /api/deliveries?path=&after=`,
 * `GET /api/deliveries/:number` for the body as it came.
 */
export function receiverRoutes(receiver: Receiver): Routes {
  return (router) => {
    router.put('/api/hooks', ({ body }, response) => {
      const { path, ...hook } = body as Hook & { path: string }
      receiver.hook(path, hook)
      response.json({ url: receiver.url(path) })
    })
    router.get('/api/deliveries', ({ query: { path, after = 0 } }, response) => {
      const filter = { ...(typeof path === 'string' ? { path } : {}), after: { number: Number(after) } }
      response.json({ items: receiver.deliveries(filter).map(view) })
    })
    router.get('/api/deliveries/:number', ({ params }, response) => {
      const found = receiver.deliveries().find(({ number }) => number === Number(params.number))
      if (found) response.type('json').send(found.body)
      else response.status(404).json({ error: 'no such delivery' })
    })
  }
}

function view({ body, event, ...rest }: ReceivedDelivery): DeliveryView {
  return { ...rest, bytes: body.length, eventId: event?.id ?? '', eventType: event?.type ?? '' }
}
