import { eventSchema, eventTypes } from '@signet/webhook-core'

/** The part of JSON Schema that describes events. */
type Schema = {
  type: string
  description?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
}

/** The TypeScript types of @signet/webhook-verify for receivers, generated from the same schemas as the API documents. */
export function eventData(): string {
  const data = eventTypes.map((type): [string, Schema] => {
    const { description = '', properties } = eventSchema(type) as Schema
    return [`'${type}'`, { type: 'object', ...properties?.['data'], description }]
  })
  const byType = {
    type: 'object',
    properties: Object.fromEntries(data),
    required: data.map(([name]) => name),
  }
  return [
    '// Generated from the event catalogue in packages/webhook-core by `npm run docs`; change that, not this file.',
    '',
    '/** What is in `data`, by the type of the event. Only members without a question mark are promised. */',
    `export type EventData = ${typeOf(byType, '')}`,
    '',
  ].join('\n')
}

function typeOf({ type, properties = {}, required = [], items }: Schema, indent: string): string {
  if (type === 'string' || type === 'number' || type === 'boolean') return type
  if (type === 'integer') return 'number'
  if (type === 'array' && items) return `${typeOf(items, indent)}[]`
  if (type !== 'object') throw new Error(`there is no TypeScript type for a member of the type ${type}`)
  const inner = `${indent}  `
  const members = Object.entries(properties).flatMap(([name, schema]) => [
    ...(schema.description === undefined ? [] : [`${inner}/** ${schema.description} */`]),
    `${inner}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)}`,
  ])
  return ['{', ...members, `${indent}}`].join('\n')
}
