import { html, type Page } from '@signet/pages'
import type { Hit } from '../admin-service.js'
import { adminPage } from './admin-page.js'
import { link } from './show.js'
import type { AdminTexts } from './texts.js'

/** Shown for a number that names two things, and for an id that names nothing. */
export const searchPage = (t: AdminTexts, query: string, hits: readonly Hit[]): Page =>
  adminPage(t, {
    title: t(hits.length === 0 ? 'found.nothing' : 'found'),
    query,
    body:
      hits.length === 0
        ? html`<p>${t.html('found.nothing.text', { query })}</p>
            <p class="soft">${t.html('found.nothing.hint')}</p>`
        : html`<ul>
            ${hits.map(({ kind, id }) => html`<li>${t(`found.kind.${kind}`)} ${link(kind, id)}</li>`)}
          </ul>`,
  })
