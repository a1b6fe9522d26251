import { facts, html, live, table, time, type Html } from '@signet/pages'
import { servePage, toolPage, type LocalTexts } from '../pages/local-page.js'
import type { Routes } from '../web-server.js'
import type { Hook, ReceivedDelivery, Receiver } from './receiver.js'

/** A delivery as programs see it: the body stays at its own address, it may be megabytes. */
export type DeliveryView = Omit<ReceivedDelivery, 'body' | 'event'> & {
  bytes: number
  eventId: string
  eventType: string
}

/** Newest deliveries that the list has. */
const LISTED = 100

const style = `
.right { color: var(--good) }
.wrong { color: var(--bad) }
`

/**
 * What the receiver got. For people: a list, and each delivery with its body. For programs: `PUT /api/hooks`
 * `{path, secret?, answers?, otherwise?}`, `GET /api/deliveries?path=&after=`, `GET /api/deliveries/:number` for the body as it came.
 */
export const receiverRoutes =
  ({ deliveries, hook, url }: Pick<Receiver, 'deliveries' | 'hook' | 'url'>): Routes =>
  (router) => {
    const find = (number: unknown) => deliveries().find((delivery) => delivery.number === Number(number))
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
      const found = find(params.number)
      if (found) response.type('json').send(found.body)
      else response.sendStatus(404)
    })
    servePage(router, '/receiver', (t, request) => {
      const arriving = live(t, { here: request.originalUrl, now: new Date() }, list(t, deliveries()))
      const body = html`<p>${t('receiver.about')}</p>
        ${arriving}`
      return toolPage(t, { title: t('receiver'), here: 'receiver', style, body })
    })
    servePage(router, '/receiver/:number', (t, { params: { number = '' } }) => {
      const found = find(number)
      const title = t('receiver.delivery', { number: String(number) })
      const body = found ? details(t, found) : html`<p role="alert">${t('receiver.gone')}</p>`
      const status = found ? 200 : 404
      return { ...toolPage(t, { title, here: 'receiver', style, body }), polls: false, status }
    })
  }

const view = ({ body, event, ...rest }: ReceivedDelivery): DeliveryView => ({
  ...rest,
  ...{ bytes: body.length, eventId: event?.id ?? '', eventType: event?.type ?? '' },
})

function list(t: LocalTexts, all: readonly ReceivedDelivery[]): Html {
  const columns = ['number', 'time', 'path', 'event', 'size', 'signature', 'answer'] as const
  return html`<p role="status">${t('receiver.count', { count: all.length })}</p>
    ${table(
      t('receiver.deliveries'),
      columns.map((column) => t(`receiver.column.${column}`)),
      [...all]
        .slice(-LISTED)
        .reverse()
        .map((delivery) => [
          html`<a
            href="/receiver/${delivery.number}"
            aria-label="${t('receiver.delivery', { number: delivery.number })}"
            >${delivery.number}</a
          >`,
          time(new Date(delivery.receivedAt), t.language),
          html`${delivery.path}`,
          html`${eventOf(delivery)}`,
          html`${sizeOf(t, delivery)}`,
          signatureOf(t, delivery),
          answerOf(t, delivery),
        ]),
      t,
    )}
    ${all.length > LISTED && html`<p class="soft">${t('receiver.more', { count: LISTED })}</p>`}`
}

const details = (t: LocalTexts, delivery: ReceivedDelivery): Html =>
  html`${facts([
      [t('receiver.column.time'), time(new Date(delivery.receivedAt), t.language)],
      [t('receiver.column.path'), delivery.path],
      [t('receiver.column.event'), eventOf(delivery)],
      [t('receiver.column.signature'), signatureOf(t, delivery)],
      [t('receiver.column.answer'), answerOf(t, delivery)],
    ])}
    <h2>${t('receiver.headers')}</h2>
    <pre tabindex="0" role="region" aria-label="${t('receiver.headers')}">${headersOf(delivery)}</pre>
    <h2>${t('receiver.body')}</h2>
    <pre tabindex="0" role="region" aria-label="${t('receiver.body')}">${bodyOf(delivery)}</pre>
    <p><a href="/receiver">${t('receiver.back')}</a></p>`

const eventOf = ({ headers }: ReceivedDelivery): string => String(headers['x-service-event'] ?? '—')

const sizeOf = ({ language }: LocalTexts, { body }: ReceivedDelivery): string =>
  `${body.length.toLocaleString(language)} B`

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
function bodyOf({ body }: ReceivedDelivery): string {
  const text = body.toString('utf8')
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
