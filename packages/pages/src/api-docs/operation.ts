import type { JsonSchema, ParameterDoc, ResponseDoc, Route } from '@signet/http'
import { bodySchemaOf } from '@signet/http/open-api'
import { html, type Html } from '../html.js'
import { asSentence, prose, type SchemaTables } from './schema-table.js'
import { templateOf, tryForm } from './try-form.js'

/** The parts of the document that operations refer to by name. */
export type Components = {
  schemas: Readonly<Record<string, JsonSchema>>
  pathParameters: Readonly<Record<string, Pick<ParameterDoc, 'schema' | 'description'>>>
  securitySchemes: Readonly<Record<string, { description: string }>>
}
type Reference = Components & { tables: SchemaTables }

export const anchorOf = ({ docs }: Route): string => docs.operationId

/** One operation: what it does, its parameters, body and answers, and a form to try it. */
export function operation(route: Route, reference: Reference): Html {
  const { docs, method } = route
  const { tables } = reference
  const body = bodySchemaOf(route)
  const inPath = pathParametersOf(route, reference)
  return html`<section id="${anchorOf(route)}" aria-label="${docs.summary}">
    <h3>${docs.summary}</h3>
    <p><span class="method">${method.toUpperCase()}</span> <code>${templateOf(route)}</code></p>
    ${docs.description !== undefined && html`<p>${prose(docs.description)}</p>`}
    ${authorization(route, reference)} ${parameters('Path', inPath, tables)}
    ${parameters('Query', docs.parameters ?? [], tables)}
    ${
      body &&
      html`<h4>Body</h4>
        ${tables.tables(body)}`
    }
    <h4>Answers</h4>
    ${Object.entries(docs.responses).map(([status, response]) => answer(status, response, tables))}
    ${tryForm(route, inPath, reference.schemas)}
  </section>`
}

function authorization({ docs }: Route, { securitySchemes }: Reference): Html | false {
  const schemes = (docs.security ?? []).map((name) => securitySchemes[name]?.description ?? name)
  return schemes.length > 0 && html`<p>Token: ${prose(asSentence(schemes.join(', or ')))}</p>`
}

function pathParametersOf({ path }: Route, { pathParameters }: Reference): ParameterDoc[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    schema: { type: 'string' },
    ...pathParameters[name],
    name,
    in: 'path',
    required: true,
  }))
}

const parameters = (title: string, list: readonly ParameterDoc[], tables: SchemaTables): Html | false =>
  list.length > 0 &&
  html`<h4>${title}</h4>
    ${tables.table(list.map((one) => tables.row(one.name, one.schema, one.required === true, one.description)))}`

/** The reader can open the members of a successful answer. Errors look the same everywhere, so theirs are not shown. */
function answer(status: string, { description, schema }: ResponseDoc, tables: SchemaTables): Html {
  const title = html`<strong>${status}</strong> ${prose(description)}`
  const members = schema && status < '300' ? tables.tables(schema) : []
  return members.length === 0
    ? html`<p class="answer">${title}</p>`
    : html`<details class="answer">
        <summary>${title}</summary>
        ${members}
      </details>`
}
