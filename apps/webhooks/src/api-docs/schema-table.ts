import type { JsonSchema } from '@signet/http'
import { type Html, html } from '@signet/pages'
import { publicComponents } from './api-document.js'

/** Members or parameters as a table; false if there are none. */
export const fields = (rows: readonly Html[]): Html | false =>
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
  format?: string
  default?: string | number
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  description?: string
}

/** One row for each member, those of objects and of items inside it by their dotted path. */
export function properties(schema: JsonSchema, path = ''): Html[] {
  const { properties: members = {}, required = [], items }: Shape = schema
  if (items) return properties(resolve(items), `${path}[]`)
  return Object.entries(members).flatMap(([name, given]) => {
    const member: Shape = resolve(given)
    const full = path === '' ? name : `${path}.${name}`
    return [row(full, member, required.includes(name), member.description), ...properties(member, full)]
  })
}

/** One row of the table. */
export function row(name: string, schema: JsonSchema, required: boolean, description = ''): Html {
  const { type = 'any', format, items, default: preset }: Shape = schema
  const word = format ?? [type].flat().join(' or ')
  const of = items ? ` of ${[(resolve(items) as Shape).type ?? 'any'].flat().join(' or ')}` : ''
  const fallback = preset === undefined ? '' : ` Default ${String(preset)}.`
  return html`<tr>
    <td><code>${name}</code></td>
    <td>${word}${of}${required && ', required'}</td>
    <td>${prose(description)}${fallback}</td>
  </tr>`
}

/** The schema itself in place of a reference to a component. */
export function resolve(schema: JsonSchema): JsonSchema {
  const { $ref }: Shape = schema
  return $ref === undefined ? schema : (publicComponents[$ref.replace('#/components/schemas/', '')] ?? {})
}

/** Text with \`code\` between backticks. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
