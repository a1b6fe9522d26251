import { facts, html, time } from '@signet/pages'
import { serveArrivals } from '../pages/arrivals.js'
import { TOOLS } from '../pages/local-page.js'
import type { Routes } from '../web-server.js'
import type { Inbox } from './inbox.js'
import type { Mail } from './mail.js'

/** An email is untrusted HTML. It may not run scripts, and its links open in a new tab. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'
const MAIL_POLICY = `sandbox ${SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src data:`

/** Serves what the inbox received. For people: a list, and each email. For programs: `GET /api/messages?to=`, the newest first. */
export const inboxRoutes =
  ({ messages }: Pick<Inbox, 'messages'>): Routes =>
  (router) => {
    router.get('/api/messages', ({ query: { to } }, response) => {
      response.json({ items: messages(typeof to === 'string' ? { to } : {}).reverse() })
    })
    router.get('/messages/:id.html', ({ params }, response) => {
      const mail = messages().find(({ id }) => id === Number(params.id))
      if (mail) response.set('Content-Security-Policy', MAIL_POLICY).type('html').send(mailDocument(mail))
      else response.sendStatus(404)
    })
    serveArrivals(router, {
      ...{ tool: TOOLS.inbox, plural: 'Emails', itemPath: '/messages' },
      all: () => messages(),
      numberOf: ({ id }) => id,
      textOf: ({ subject, to }) => `${subject} ${to.join(' ')}`,
      filter: 'Address or subject',
      titleOf: ({ subject }) => subject || '(no subject)',
      columns: ['Subject', 'To', 'Time'],
      cells: ({ to, receivedAt }) => [html`${to.join(', ')}`, time(new Date(receivedAt))],
      details: ({ id, sender, to, receivedAt }) =>
        html`${facts([
            ['From', sender],
            ['To', to.join(', ')],
            ['', time(new Date(receivedAt))],
          ])}<iframe title="Email" src="/messages/${id}.html" sandbox="${SANDBOX}"></iframe>`,
    })
  }

function mailDocument(mail: Mail): string {
  const plain = html`<pre style="white-space:pre-wrap;font:15px/1.5 ui-monospace,monospace">
${mail.text}</pre>`
  return `<!doctype html><meta charset="utf-8"><base target="_blank">${mail.html || plain.text}`
}
