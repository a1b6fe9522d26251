import { createHash } from 'node:crypto'
import type { Answer, Route } from '@signet/http'
import { Html, html } from '../html.js'
import { anchorOf, operation, type Components } from './operation.js'
import { SchemaTables } from './schema-table.js'
import { STYLE } from './style.js'
import { tryScript } from './try-script.js'

export { tryScript } from './try-script.js'

export type ApiDocs = Components & {
  title: string
  /** Public URL of the service. The page is at `/docs` and its script at `/docs.js` below it. */
  baseUrl: string
  /** What a reader needs before the first call, in a section with the id `start`. */
  introduction: Html
  routes: readonly Route[]
  /** Names of tags in the order of the page. Routes with others are left out. */
  tags: readonly string[]
}

export const SCRIPT_PATH = '/docs.js'

// The script sends requests to this service only, and the style is the page's own: nothing comes from elsewhere.
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page at `/docs`: the same routes as the OpenAPI document, for people. */
export const docsAnswer = (docs: ApiDocs): Answer => ({
  headers: {
    'Cache-Control': 'public, max-age=300',
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
  },
  body: docsPage(docs),
})

// One piece of text: white space around the style would change its hash.
const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`)

function docsPage({ title, baseUrl, introduction, routes, tags, ...parts }: ApiDocs): string {
  const { pathname } = new URL(baseUrl)
  const base = pathname.replace(/\/+$/, '')
  const reference = { ...parts, tables: new SchemaTables(parts.schemas) }
  const sections = tags
    .map((tag) => ({ tag, routes: routes.filter(({ docs }) => docs.tag === tag) }))
    .filter((section) => section.routes.length > 0)
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${STYLE_ELEMENT}
        <script src="${tryScript.at(`${base}${SCRIPT_PATH}`)}" defer></script>
      </head>
      <body data-base="${base}">
        <header>
          <nav aria-label="Contents">
            <details>
              <summary>Contents</summary>
              <a href="#start">Start here</a>
              ${sections.map(
                (section) =>
                  html`<strong>${section.tag}</strong>
                    <ul>
                      ${section.routes.map(
                        (route) => html`<li><a href="#${anchorOf(route)}">${route.docs.summary}</a></li>`,
                      )}
                    </ul>`,
              )}
            </details>
          </nav>
          <section class="token" hidden aria-label="Token">
            <label
              >Token for trying requests
              <input
                id="token"
                type="password"
                autocomplete="off"
                spellcheck="false"
                aria-describedby="token-hint"
              />
            </label>
            <p id="token-hint">It stays in this page until you close it, and goes to ${baseUrl} only.</p>
          </section>
        </header>
        <main>
          <h1>${title}</h1>
          ${introduction}
          ${sections.map(
            (section) =>
              html`<h2>${section.tag}</h2>
                ${section.routes.map((route) => operation(route, reference))}`,
          )}
        </main>
      </body>
    </html> `.text
}
