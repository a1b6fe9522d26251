import { createHash } from 'node:crypto'
import type { Brand } from '@signet/brand'
import type { Answer, Route } from '@signet/http'
import { DEFAULT_LANGUAGE } from '@signet/language'
import { brandHeader, legalFooter } from '../brand.js'
import { Html, html } from '../html.js'
import { contentHeading, skipLink } from '../page.js'
import { anchorOf, operation, type Components } from './operation.js'
import { SchemaTables } from './schema-table.js'
import { docsStyle } from './style.js'
import { tryScript } from './try-script.js'

export { tryScript } from './try-script.js'

export type ApiDocs = Components & {
  title: string
  brand: Brand
  /** Path of the brand's icon below the public URL, if the service has one. */
  icon?: string | undefined
  /** Public URL of the service. The page is at `/docs` and its script at `/docs.js` below it. */
  baseUrl: string
  /** Introduction for readers before their first call, in a section with the id `start`. */
  introduction: Html
  routes: readonly Route[]
  /** Names of tags in the order of the page. Routes with other tags are left out. */
  tags: readonly string[]
}

export const SCRIPT_PATH = '/docs.js'

// The script sends requests only to this service, and the style is part of the page: nothing comes from elsewhere.
const policyFor = (style: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** The page at `/docs`: the same routes as the OpenAPI document, for people. */
export function docsAnswer(docs: ApiDocs): Answer {
  const style = docsStyle(docs.brand.accent)
  return {
    headers: {
      'Cache-Control': 'public, max-age=300',
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyFor(style),
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
    },
    body: docsPage(docs, style),
  }
}

function docsPage(
  { title, brand, icon, baseUrl, introduction, routes, tags, ...parts }: ApiDocs,
  style: string,
): string {
  const { pathname } = new URL(baseUrl)
  const base = pathname.replace(/\/+$/, '')
  const iconUrl = icon === undefined ? undefined : `${base}${icon}`
  const reference = { ...parts, tables: new SchemaTables(parts.schemas) }
  const sections = tags
    .map((tag) => ({ tag, routes: routes.filter(({ docs }) => docs.tag === tag) }))
    .filter((section) => section.routes.length > 0)
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${iconUrl !== undefined && html`<link rel="icon" href="${iconUrl}" />`}
        <title>${title}</title>
        ${/* White space around it would change the hash. */ new Html(`<style>${style}</style>`)}
        <script src="${tryScript.at(`${base}${SCRIPT_PATH}`)}" defer></script>
      </head>
      <body data-base="${base}">
        ${skipLink(DEFAULT_LANGUAGE)}
        <header>
          ${brandHeader(brand, iconUrl)}
          <nav aria-label="Contents" tabindex="0">
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
          <div class="card">
            ${contentHeading(title)} ${introduction}
            ${sections.map(
              (section) =>
                html`<h2>${section.tag}</h2>
                  ${section.routes.map((route) => operation(route, reference))}`,
            )}
          </div>
          ${legalFooter(brand, DEFAULT_LANGUAGE)}
        </main>
      </body>
    </html> `.text
}
