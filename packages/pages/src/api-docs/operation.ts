import type { JsonSchema, ParameterDoc, Route } from '@signet/http'
import { bodySchemaOf, exampleOf } from '@signet/http/open-api'
import { html, type Html } from '../html.js'
import { prose, type SchemaTables } from './schema-table.js'

export type Reference = { tables: SchemaTables; schemas: Readonly<Record<string, JsonSchema>> }

export const anchorOf = ({ docs }: Route): string => docs.operationId
const templateOf = ({ path }: Route): string => path.replace(/:(\w+)/g, '{$1}')
const isForm = ({ body }: Route): boolean => body?.as === 'form'

/** One operation: what it does, its parameters, body and answers, and a form to try it. */
export function operation(route: Route, reference: Reference): Html {
  const { docs, method } = route
  const { tables } = reference
  const body = bodySchemaOf(route)
  return html`<section id="${anchorOf(route)}" aria-label="${docs.summary}">
    <h3>${docs.summary}</h3>
    <p><span class="method">${method.toUpperCase()}</span> <code>${templateOf(route)}</code></p>
    ${docs.description !== undefined && html`<p>${prose(docs.description)}</p>`}
    ${
      docs.parameters &&
      html`<h4>Query</h4>
        ${tables.table(docs.parameters.map((one) => tables.row(one.name, one.schema, one.required === true, one.description)))}`
    }
    ${
      body &&
      html`<h4>Body</h4>
        ${tables.tables(body)}`
    }
    <h4>Answers</h4>
    ${Object.entries(docs.responses).map(
      ([status, { description, schema }]) =>
        html`<p class="answer"><strong>${status}</strong> ${prose(description)}</p>
          ${schema && status < '300' && tables.tables(schema)}`,
    )}
    ${tryForm(route, reference)}
  </section>`
}

function tryForm(route: Route, { schemas }: Reference): Html {
  const { docs, method, path } = route
  const body = bodySchemaOf(route)
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    required: true,
  }))
  const type = isForm(route) ? 'application/x-www-form-urlencoded' : 'application/json'
  return html`<details>
    <summary>Try it</summary>
    <form
      class="try"
      hidden
      autocomplete="off"
      data-method="${method.toUpperCase()}"
      data-path="${templateOf(route)}"
      data-type="${type}"
      ${(docs.security ?? []).length > 0 && html`data-secured`}
    >
      ${inPath.map((one) => input('path', one))} ${(docs.parameters ?? []).map((one) => input('query', one))}
      ${
        body &&
        html`<label
          >Body, JSON${isForm(route) && ', sent as a form'}
          <textarea name="body" rows="6" spellcheck="false">
${JSON.stringify(docs.bodyExample ?? exampleOf(body, schemas), null, 2)}</textarea>
        </label>`
      }
      <button aria-label="Send: ${docs.summary}">Send</button>
      <pre tabindex="0" role="group" aria-label="Answer"><output></output></pre>
    </form>
    <noscript
      ><p>Sending requests from this page needs its script. The same request works with curl.</p></noscript
    >
  </details>`
}

const input = (kind: 'path' | 'query', { name, required }: Pick<ParameterDoc, 'name' | 'required'>): Html =>
  html`<label
    >${name}${required === true && ', required'}
    <input
      name="${kind}:${name}"
      spellcheck="false"
      autocapitalize="off"
      ${required === true && html`required`}
  /></label>`
