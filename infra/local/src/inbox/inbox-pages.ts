import { facts, html, live, time, type Html } from '@signet/pages'
import { servePage, toolPage, type LocalTexts } from '../pages/local-page.js'
import type { Routes } from '../web-server.js'
import type { Inbox } from './inbox.js'
import type { Mail } from './mail.js'

type View = { mails: readonly Mail[]; shown: Mail | undefined; query: string; here: string; now: Date }

/** An email is untrusted HTML: it runs no script, and its links open in a new tab. */
const MAIL_POLICY =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

/** Newest emails that the list has; the others are found by the filter. */
const LISTED = 100

const style = `
.mails { display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 17rem) minmax(0, 1fr) }
.mails ul { margin: 0 0 1rem; padding: 0; list-style: none; max-height: 70vh; overflow: auto }
.mails li a { display: grid; padding: .6rem .7rem; border-bottom: 1px solid var(--line); color: inherit; text-decoration: none }
.mails li a[aria-current=true] { background: var(--bg); box-shadow: inset 3px 0 var(--accent) }
.mails li span { font-size: .85rem; color: var(--soft) }
.mails h2 { margin-top: 0 }
iframe { width: 100%; height: 34rem; border: 1px solid var(--line); border-radius: var(--radius) }
@media (max-width: 45rem) { .mails { grid-template-columns: minmax(0, 1fr) } .mails ul { max-height: 16rem } }
`

/** `/api/messages?to=` for programs. For people: the newest email, or the one that was chosen. */
export const inboxRoutes =
  ({ messages, clear }: Pick<Inbox, 'messages' | 'clear'>): Routes =>
  (router) => {
    const find = (id: string) => messages().find((mail) => mail.id === Number(id))
    router.get('/api/messages', ({ query: { to } }, response) => {
      response.json({ items: messages(typeof to === 'string' ? { to } : {}).reverse() })
    })
    router.get('/messages/:id.html', ({ params }, response) => {
      const mail = find(params.id)
      if (mail) response.set('Content-Security-Policy', MAIL_POLICY).type('html').send(mailDocument(mail))
      else response.sendStatus(404)
    })
    servePage(router, ['/', '/messages/:id'], (t, request) => {
      const { q } = request.query
      const query = typeof q === 'string' ? q.trim() : ''
      const mails = messages()
        .filter((mail) => fits(mail, query))
        .reverse()
      const id = request.params['id']
      const shown = id === undefined ? mails[0] : find(String(id))
      const view = { mails, shown, query, here: request.originalUrl, now: new Date() }
      return { ...inboxPage(t, view), status: id !== undefined && shown === undefined ? 404 : 200 }
    })
    router.post('/clear', (request, response) => {
      // A page of another site must not empty the inbox.
      if ((request.get('sec-fetch-site') ?? 'same-origin') !== 'same-origin')
        return void response.sendStatus(403)
      clear()
      response.redirect(303, '/')
    })
  }

function mailDocument(mail: Mail): string {
  const plain = html`<pre style="white-space:pre-wrap;font:15px/1.5 ui-monospace,monospace">
${mail.text}</pre>`
  return `<!doctype html><meta charset="utf-8"><base target="_blank">${mail.html || plain.text}`
}

const fits = ({ subject, to }: Mail, query: string): boolean =>
  `${subject} ${to.join(' ')}`.toLowerCase().includes(query.toLowerCase())

const inboxPage = (t: LocalTexts, { mails, shown, query, here, now }: View) =>
  toolPage(t, {
    title: t('inbox'),
    here: 'inbox',
    style,
    allow: { 'frame-src': ["'self'"] },
    body: html`<form method="get" action="/" role="search" class="filters">
        <div>
          <label for="q">${t('inbox.filter')}</label>
          <input id="q" name="q" type="search" value="${query}" />
        </div>
        <div><button class="plain" type="submit">${t('inbox.filter.submit')}</button></div>
      </form>
      <div class="mails">
        ${live(t, { here, now }, list(t, mails, { shown, query }))}
        ${shown === undefined ? html`<p class="soft">${t('inbox.none-shown')}</p>` : message(t, shown)}
      </div>
      <form method="post" action="/clear">
        <button class="danger narrow" type="submit">${t('inbox.clear')}</button>
      </form>`,
  })

const list = (t: LocalTexts, mails: readonly Mail[], { shown, query }: Pick<View, 'shown' | 'query'>): Html =>
  html`<p role="status">${t('inbox.count', { count: mails.length })}</p>
    <ul aria-label="${t('inbox.messages')}" ${mails.length > 0 && html`tabindex="0"`}>
      ${mails.slice(0, LISTED).map(
        (mail) =>
          html`<li>
            <a
              href="/messages/${mail.id}${query === '' ? '' : `?q=${encodeURIComponent(query)}`}"
              aria-current="${mail === shown ? 'true' : 'false'}"
              ><strong>${subjectOf(t, mail)}</strong> <span>${mail.to.join(', ')}</span>
              <span>${time(new Date(mail.receivedAt), t.language)}</span></a
            >
          </li>`,
      )}
    </ul>
    ${mails.length > LISTED && html`<p class="soft">${t('inbox.more', { count: LISTED })}</p>`}`

const message = (t: LocalTexts, mail: Mail): Html =>
  html`<section aria-label="${t('inbox.message')}">
    <h2>${subjectOf(t, mail)}</h2>
    ${facts([
      [t('inbox.from'), mail.sender],
      [t('inbox.to'), mail.to.join(', ')],
      ['', time(new Date(mail.receivedAt), t.language)],
    ])}
    <iframe
      title="${t('inbox.message')}"
      src="/messages/${mail.id}.html"
      sandbox="allow-popups allow-popups-to-escape-sandbox"
    ></iframe>
  </section>`

const subjectOf = (t: LocalTexts, { subject }: Mail): string => subject || t('inbox.no-subject')
