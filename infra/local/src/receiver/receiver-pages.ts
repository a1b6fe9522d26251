import { facts, html, live, table, time, type Html } from '@signet/pages'
import { servePage, toolPage, type LocalTexts } from '../pages/local-page.js'
import type { Routes } from '../web-server.js'
import { type Hook, parseLeniently, type ReceivedDelivery, type Receiver } from './receiver.js'

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

const COLUMNS = ['time', 'path', 'event', 'size', 'signature', 'answer'] as const

/** What the list and the delivery's own page say about it. */
const cellsOf = (t: LocalTexts, delivery: ReceivedDelivery): Record<(typeof COLUMNS)[number], Html> => ({
  time: time(new Date(delivery.receivedAt), t.language),
  path: html`${delivery.path}`,
  event: html`${String(delivery.headers['x-service-event'] ?? '—')}`,
  size: html`${delivery.body.length.toLocaleString(t.language)} B`,
  signature: signatureOf(t, delivery),
  answer: answerOf(t, delivery),
})

function list(t: LocalTexts, all: readonly ReceivedDelivery[]): Html {
  const columns = (['number', ...COLUMNS] as const).map((column) => t(`receiver.column.${column}`))
  const rows = all
    .slice(-LISTED)
    .reverse()
    .map((delivery) => [linkTo(t, delivery), ...Object.values(cellsOf(t, delivery))])
  return html`<p role="status">${t('receiver.count', { count: all.length })}</p>
    ${table(t('receiver.deliveries'), columns, rows, t)}
    ${all.length > LISTED && html`<p class="soft">${t('receiver.more', { count: LISTED })}</p>`}`
}

const linkTo = (t: LocalTexts, { number }: ReceivedDelivery): Html =>
  html`<a href="/receiver/${number}" aria-label="${t('receiver.delivery', { number })}">${number}</a>`

function details(t: LocalTexts, delivery: ReceivedDelivery): Html {
  const cells = cellsOf(t, delivery)
  return html`${facts(COLUMNS.map((column) => [t(`receiver.column.${column}`), cells[column]]))}
    ${section(t('receiver.headers'), headersOf(delivery))} ${section(t('receiver.body'), bodyOf(delivery))}
    <p><a href="/receiver">${t('receiver.back')}</a></p>`
}

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
