import { html, json, type SmallRoute } from '../small-http.js'
import { RECEIVER_PAGE } from './page.js'
import type { Hook, ReceivedDelivery, Receiver } from './receiver.js'

/** A delivery as the control API shows it: the body stays at its own address, it may be megabytes. */
export type DeliveryView = Omit<ReceivedDelivery, 'body' | 'event'> & {
  bytes: number
  eventId: string
  eventType: string
}

/**
 * A page that shows what the receiver got, and an API for programs that do not run in the receiver's process:
 * `PUT /api/hooks` `{path, secret?, answers?, otherwise?}`, `GET /api/deliveries?path=&after=`,
 * `GET /api/deliveries/:number` for the body as it came.
 */
export function receiverRoutes(receiver: Receiver): SmallRoute[] {
  return [
    ['GET', /^\/receiver$/, () => html(RECEIVER_PAGE)],
    [
      'PUT',
      /^\/api\/hooks$/,
      async ({ body }) => {
        const { path, ...hook } = JSON.parse((await body()).toString('utf8')) as Hook & { path: string }
        receiver.hook(path, hook)
        return json({ url: receiver.url(path) })
      },
    ],
    [
      'GET',
      /^\/api\/deliveries$/,
      ({ query }) => {
        const after = Number(query.get('after') ?? 0)
        const found = receiver.deliveries({ path: query.get('path') ?? undefined, after: { number: after } })
        return json({ items: found.map(view) })
      },
    ],
    [
      'GET',
      /^\/api\/deliveries\/(?<number>\d+)$/,
      ({ params }) => {
        const found = receiver.deliveries().find(({ number }) => number === Number(params['number']))
        return found
          ? { type: 'application/json', body: found.body }
          : json({ error: 'no such delivery' }, 404)
      },
    ],
  ]
}

function view({ body, event, ...rest }: ReceivedDelivery): DeliveryView {
  return { ...rest, bytes: body.length, eventId: event?.id ?? '', eventType: event?.type ?? '' }
}
