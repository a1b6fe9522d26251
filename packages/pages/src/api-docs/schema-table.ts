import type { JsonSchema } from '@signet/http'
import { componentOf } from '@signet/http/open-api'
import { html, type Html } from '../html.js'

type Schemas = Readonly<Record<string, JsonSchema>>
type Shape = {
  $ref?: string
  type?: string | string[]
  format?: string
  const?: unknown
  enum?: unknown[]
  default?: string | number | boolean
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Schemas
  required?: string[]
  description?: string
}

/** Tables of members and parameters. References are looked up in the components of the document. */
export class SchemaTables {
  constructor(private readonly schemas: Schemas) {}

  /** Rows as a table; false if there are none. */
  table(rows: readonly Html[]): Html | false {
    if (rows.length === 0) return false
    return html`<table>
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
    </table>`
  }

  /** The members of a schema as a table, or one table for each of its alternatives. */
  tables(schema: JsonSchema): Html[] {
    const shape = this.#resolve(schema)
    const alternatives = shape.oneOf ?? shape.anyOf
    if (alternatives === undefined)
      return [this.table(this.#members(shape))].filter((table) => table !== false)
    return alternatives.flatMap((alternative, index) => {
      const tables = this.tables(alternative)
      return index === 0 || tables.length === 0 ? tables : [html`<p>or</p>`, ...tables]
    })
  }

  row(name: string, schema: JsonSchema, required: boolean, description?: string): Html {
    const shape = this.#resolve(schema)
    const sentences = [description ?? shape.description ?? '', limitsOf(shape), defaultOf(shape)]
    return html`<tr>
      <th scope="row"><code>${name}</code></th>
      <td>${this.#typeOf(shape)}${required && ', required'}</td>
      <td>${prose(sentences.filter(Boolean).map(asSentence).join(' '))}</td>
    </tr>`
  }

  /** One row for each member, including members of nested objects and of array items by their dotted path. */
  #members(schema: JsonSchema, path = '', seen: readonly JsonSchema[] = []): Html[] {
    const shape = this.#resolve(schema)
    if (seen.includes(shape)) return []
    const within = [...seen, shape]
    if (shape.items) return this.#members(shape.items, `${path}[]`, within)
    return Object.entries(shape.properties ?? {}).flatMap(([name, member]) => {
      const full = path === '' ? name : `${path}.${name}`
      return [
        this.row(full, member, shape.required?.includes(name) ?? false),
        ...this.#members(member, full, within),
      ]
    })
  }

  #resolve(schema: JsonSchema): Shape {
    const { $ref }: Shape = schema
    return $ref === undefined ? schema : this.#resolve(componentOf($ref, this.schemas))
  }

  #typeOf(shape: Shape): string {
    const alternatives = shape.oneOf ?? shape.anyOf
    if (alternatives) return alternatives.map((one) => this.#typeOf(this.#resolve(one))).join(' or ')
    if (shape.const !== undefined) return JSON.stringify(shape.const)
    if (shape.items) return `array of ${this.#typeOf(this.#resolve(shape.items))}`
    return shape.format ?? [shape.type ?? 'any'].flat().join(' or ')
  }
}

function limitsOf({ enum: values, minimum, maximum, minLength, maxLength, maxItems }: Shape): string {
  const limits = [
    values && `one of ${values.map((value) => `\`${String(value)}\``).join(', ')}`,
    minimum !== undefined && minimum !== 0 && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    minLength !== undefined && `at least ${minLength} ${minLength === 1 ? 'character' : 'characters'}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems} entries`,
  ]
  const text = limits.filter((limit) => typeof limit === 'string').join(', ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

const defaultOf = ({ default: value }: Shape): string =>
  value === undefined ? '' : `Default \`${String(value)}\``

export const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** Text with \`code\` between backticks. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
