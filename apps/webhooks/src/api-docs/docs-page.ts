import { createHash } from 'node:crypto'
import type { Route } from '@signet/http'
import { Html, html } from '@signet/pages'
import { DOCS_STYLE } from './docs-style.js'
import { introduction } from './introduction.js'
import { fields, prose, properties, resolve, row } from './schema-table.js'

/** Allows the page's own style and nothing else: no script, no font, no image, no frame. */
export const DOCS_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(DOCS_STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

// One piece of text: white space around the style would change its hash.
const STYLE = new Html(`<style>${DOCS_STYLE}</style>`)

/** The API for people to read: the same route table as the OpenAPI document, one page, no script. */
export function docsPage(table: readonly Route[], baseUrl: string): string {
  const routes = table.filter(({ docs }) => docs.tag !== PAGES)
  const tags = sections(routes)
  const ofTag = (tag: string) => routes.filter(({ docs }) => docs.tag === tag)
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Recording events API</title>
        ${STYLE}
      </head>
      <body>
        <nav aria-label="Contents">
          <a href="#start">Start here</a>
          ${tags.map(
            (tag) =>
              html`<strong>${tag}</strong>
                <ul>
                  ${ofTag(tag).map((route) => html`<li><a href="#${anchor(route)}">${route.docs.summary}</a></li>`)}
                </ul>`,
          )}
        </nav>
        <main>
          <h1>Recording events API</h1>
          ${introduction(baseUrl)}
          ${tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                ${ofTag(tag).map(operation)}`,
          )}
        </main>
      </body>
    </html> `.text
}

/** Tag of the routes that this page leaves out: browsers reach them through the authorization endpoint. */
const PAGES = 'Sign-in pages'

/** Most relevant to readers first. */
const ORDER = ['Subscriptions', 'Deliveries', 'Samples', 'Personal tokens', 'OAuth 2.1', 'Discovery']

function sections(routes: readonly Route[]): string[] {
  const tags = [...new Set(routes.map(({ docs }) => docs.tag))]
  const place = (tag: string) => (ORDER.includes(tag) ? ORDER.indexOf(tag) : ORDER.length)
  return tags.sort((one, other) => place(one) - place(other))
}

const anchor = ({ method, path }: Route) =>
  `${method}-${path.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '')}`

const operation = (route: Route): Html => {
  const { docs, method, path, body } = route
  const content = body?.schema ?? docs.body
  return html`<section id="${anchor(route)}">
    <h3>${docs.summary}</h3>
    <p><span class="method">${method.toUpperCase()}</span> <code>${path.replace(/:(\w+)/g, '{$1}')}</code></p>
    ${docs.description !== undefined && html`<p>${prose(docs.description)}</p>`}
    ${
      docs.parameters &&
      html`<h4>Query</h4>
        ${fields(docs.parameters.map(({ name, required, schema, description }) => row(name, schema, required === true, description)))}`
    }
    ${
      content &&
      html`<h4>Body</h4>
        ${fields(properties(content))}`
    }
    <h4>Answers</h4>
    ${Object.entries(docs.responses).map(
      ([status, { description, schema }]) =>
        html`<p class="answer"><strong>${status}</strong> ${prose(description)}</p>
          ${schema && status < '300' && fields(properties(resolve(schema)))}`,
    )}
  </section>`
}
