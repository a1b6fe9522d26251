import { facts, html, time, type Html } from '@signet/pages'
import { serveArrivals } from '../pages/arrivals.js'
import { TOOLS } from '../pages/local-page.js'
import type { Routes } from '../web-server.js'
import { type Hook, parseLeniently, type ReceivedDelivery, type Receiver } from './receiver.js'

/** A delivery as programs see it. The body has its own address, because it may be megabytes. */
export type DeliveryView = Omit<ReceivedDelivery, 'body' | 'event'> & {
  bytes: number
  eventId: string
  eventType: string
}

/**
 * Serves every delivery that the receiver got. For people: a list, and each delivery with its body. For programs: `PUT /api/hooks`
 * `{path, secret?, answers?, otherwise?}`, `GET /api/deliveries?path=&after=`, and `GET /api/deliveries/:number` for the body as it
 * arrived.
 */
export const receiverRoutes =
  ({ deliveries, hook, url }: Pick<Receiver, 'deliveries' | 'hook' | 'url'>): Routes =>
  (router) => {
    router.put('/api/hooks', ({ body }, response) => {
      const { path, ...wanted } = body as Hook & { path: string }
      hook(path, wanted)
      response.json({ url: url(path) })
    })
    router.get('/api/deliveries', ({ query: { path, after = 0 } }, response) => {
      const filter = { ...(typeof path === 'string' ? { path } : {}), after: { number: Number(after) } }
      response.json({ items: deliveries(filter).map(view) })
    })
    router.get('/api/deliveries/:number', ({ params }, response) => {
      const found = deliveries().find(({ number }) => number === Number(params.number))
      if (found) response.type('json').send(found.body)
      else response.sendStatus(404)
    })
    serveArrivals(router, {
      ...{ tool: TOOLS.receiver, plural: 'Deliveries', itemPath: '/receiver' },
      all: () => deliveries(),
      numberOf: ({ number }) => number,
      textOf: ({ path, headers }) => `${path} ${typeOf(headers)}`,
      filter: 'Path or event',
      titleOf: ({ number }) => `Delivery ${number}`,
      columns: ['Delivery', ...COLUMNS],
      cells: cellsOf,
      details: (delivery) => {
        const cells = cellsOf(delivery)
        return html`${facts(COLUMNS.map((column, index) => [column, cells[index] ?? null]))}
        ${section('Headers', headersOf(delivery))} ${section('Body', bodyOf(delivery))}`
      },
    })
  }

const view = ({ body, event, ...rest }: ReceivedDelivery): DeliveryView => ({
  ...rest,
  ...{ bytes: body.length, eventId: event?.id ?? '', eventType: event?.type ?? '' },
})

const COLUMNS = ['Time', 'Path', 'Event', 'Size', 'Signature', 'Answer']

const cellsOf = ({
  receivedAt,
  path,
  headers,
  body,
  verified,
  refusal,
  answer,
}: ReceivedDelivery): Html[] => [
  time(new Date(receivedAt)),
  html`${path}`,
  html`${typeOf(headers)}`,
  html`${body.length} B`,
  verified === null ? html`not checked` : marked(verified, verified ? 'valid' : `invalid: ${refusal}`),
  marked(answer.status < 300, String(answer.status)),
]

const marked = (isRight: boolean, text: string): Html =>
  html`<span class="${isRight ? 'right' : 'wrong'}">${text}</span>`

const typeOf = (headers: ReceivedDelivery['headers']): string => String(headers['x-service-event'] ?? '—')

const section = (title: string, text: string): Html =>
  html`<h2>${title}</h2>
    <pre tabindex="0" role="region" aria-label="${title}">${text}</pre>`

const headersOf = ({ headers }: ReceivedDelivery): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
    .join('\n')

/** Formats JSON for people. Anything else stays as it arrived. */
const bodyOf = ({ body }: ReceivedDelivery): string =>
  JSON.stringify(parseLeniently(body), null, 2) ?? body.toString('utf8')
