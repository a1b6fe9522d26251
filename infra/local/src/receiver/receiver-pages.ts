import { facts, html, time, type Html } from '@signet/pages'
import { serveArrivals } from '../pages/arrivals.js'
import { TOOLS, type LocalTexts } from '../pages/local-page.js'
import type { Routes } from '../web-server.js'
import { type Hook, parseLeniently, type ReceivedDelivery, type Receiver } from './receiver.js'

/** A delivery as programs see it: the body stays at its own address, it may be megabytes. */
export type DeliveryView = Omit<ReceivedDelivery, 'body' | 'event'> & {
  bytes: number
  eventId: string
  eventType: string
}

/**
 * What the receiver got. For people: a list, and each delivery with its body. For programs: `PUT /api/hooks`
 * `{path, secret?, answers?, otherwise?}`, `GET /api/deliveries?path=&after=`, `GET /api/deliveries/:number` for the body as it came.
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
      ...{ tool: TOOLS.receiver, itemPath: '/receiver' },
      all: () => deliveries(),
      numberOf: ({ number }) => number,
      textOf: ({ path, headers }) => `${path} ${typeOf(headers)}`,
      texts: { count: 'receiver.count', list: 'receiver.list', filter: 'receiver.filter' },
      columns: ['receiver.number', ...COLUMNS],
      titleOf: (t, { number }) => t('receiver.delivery', { number: String(number) }),
      cells: cellsOf,
      details: (t, delivery) => {
        const cells = cellsOf(t, delivery)
        return html`${facts(COLUMNS.map((column, index) => [t(column), cells[index] ?? null]))}
        ${section(t('receiver.headers'), headersOf(delivery))}
        ${section(t('receiver.body'), bodyOf(delivery))}`
      },
    })
  }

const view = ({ body, event, ...rest }: ReceivedDelivery): DeliveryView => ({
  ...rest,
  ...{ bytes: body.length, eventId: event?.id ?? '', eventType: event?.type ?? '' },
})

const COLUMNS = [
  ...(['time', 'receiver.path', 'receiver.event', 'receiver.size'] as const),
  ...(['receiver.signature', 'receiver.answer'] as const),
]

const cellsOf = (t: LocalTexts, delivery: ReceivedDelivery): Html[] => [
  time(new Date(delivery.receivedAt), t.language),
  html`${delivery.path}`,
  html`${typeOf(delivery.headers)}`,
  html`${delivery.body.length.toLocaleString(t.language)} B`,
  signatureOf(t, delivery),
  answerOf(t, delivery),
]

const typeOf = (headers: ReceivedDelivery['headers']): string => String(headers['x-service-event'] ?? '—')

const section = (title: string, text: string): Html =>
  html`<h2>${title}</h2>
    <pre tabindex="0" role="region" aria-label="${title}">${text}</pre>`

function signatureOf(t: LocalTexts, { verified, refusal }: ReceivedDelivery): Html {
  if (verified === null) return html`<span class="soft">${t('receiver.unchecked')}</span>`
  return verified
    ? html`<span class="right">${t('receiver.valid')}</span>`
    : html`<span class="wrong">${t('receiver.invalid')} <code>${refusal}</code></span>`
}

function answerOf(t: LocalTexts, { answer }: ReceivedDelivery): Html {
  if (answer.kind !== 'reply')
    return html`<span class="wrong">${t('receiver.no-answer')} (${answer.kind})</span>`
  return html`<span class="${answer.status < 300 ? 'right' : 'wrong'}">${answer.status}</span>`
}

const headersOf = ({ headers }: ReceivedDelivery): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
    .join('\n')

/** JSON for the eye; anything else as it came. */
const bodyOf = ({ body }: ReceivedDelivery): string =>
  JSON.stringify(parseLeniently(body), null, 2) ?? body.toString('utf8')
