import { createHash } from 'node:crypto'
import { type JsonSchema, type Route } from '@signet/http'
import { html, Html } from '../pages/html.js'
import { publicComponents } from './api-document.js'
import { DOCS_STYLE } from './docs-style.js'
import { introduction } from './introduction.js'

/** Allows the page's own style and nothing else: no script, no font, no image, no frame. */
export const DOCS_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(DOCS_STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

// One piece of text: white space around the style would change its hash.
const STYLE = new Html(`<style>${DOCS_STYLE}</style>`)

/** The API for people to read: the same route table as the OpenAPI document, one page, no script. */
export function docsPage(routes: readonly Route[], baseUrl: string): string {
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

/** What most readers came for first; what they will not miss last. */
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
        html`<p><strong>${status}</strong> ${prose(description)}</p>
          ${schema && status < '300' && fields(properties(resolve(schema)))}`,
    )}
  </section>`
}

const fields = (rows: readonly Html[]): Html | false =>
  rows.length > 0 &&
  html`<div class="scroll">
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`

type Shape = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  description?: string
}

/** One row for each member, those of objects and of items inside it by their dotted path. */
function properties(schema: JsonSchema, path = ''): Html[] {
  const { properties: members = {}, required = [], items }: Shape = schema
  if (items) return properties(resolve(items), `${path}[]`)
  return Object.entries(members).flatMap(([name, given]) => {
    const member: Shape = resolve(given)
    const full = path === '' ? name : `${path}.${name}`
    return [row(full, member, required.includes(name), member.description), ...properties(member, full)]
  })
}

function row(name: string, schema: JsonSchema, required: boolean, description = ''): Html {
  const { type = 'any', items }: Shape = schema
  const word = [type].flat().join(' or ')
  const of = items ? ` of ${[(resolve(items) as Shape).type ?? 'any'].flat().join(' or ')}` : ''
  return html`<tr>
    <td><code>${name}</code></td>
    <td>${word}${of}${required && ', required'}</td>
    <td>${prose(description)}</td>
  </tr>`
}

function resolve(schema: JsonSchema): JsonSchema {
  const { $ref }: Shape = schema
  return $ref === undefined ? schema : (publicComponents[$ref.replace('#/components/schemas/', '')] ?? {})
}

/** Text with \`code\` between backticks. */
const prose = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
