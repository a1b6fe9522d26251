/** The values for `{{ .Name }}` and `{{ .Data.key }}` (apps/auth/docs/specification.md#emails). Only `Data` has nested values. */
export type TemplateValues = Readonly<Record<string, unknown>>

/** A parsed template: literal texts and paths of names. */
export type Template = readonly (string | { path: readonly string[] })[]

const ACTION = /\{\{(.*?)\}\}/gs
const PATH = /^\s*((?:\.[A-Za-z_][\w-]*)+)\s*$/

/** Parses a template. Throws an Error that names the first unsupported action. */
export function parseTemplate(text: string): Template {
  const parts: (string | { path: readonly string[] })[] = []
  let end = 0
  for (const match of text.matchAll(ACTION)) {
    const path = PATH.exec(match[1] ?? '')?.[1]
    if (path === undefined) throw new Error(`the action ${match[0].slice(0, 60)} is not supported`)
    parts.push(text.slice(end, match.index), { path: path.slice(1).split('.') })
    end = match.index + match[0].length
  }
  const rest = text.slice(end)
  if (rest.includes('{{')) throw new Error('a {{ is not closed')
  return [...parts, rest]
}

/** For bodies. Escapes every value, so no value can add markup or leave an attribute. */
export const renderHtml = (template: Template, values: TemplateValues): string =>
  render(template, values, escapeHtml)

export const renderText = (template: Template, values: TemplateValues): string =>
  render(template, values, (value) => value)

/** For subjects. Returns one line, so no value can add a header. */
export const renderSubject = (template: Template, values: TemplateValues): string =>
  render(template, values, (value) => value).replace(/[\r\n]+/g, '')

function render(template: Template, values: TemplateValues, encode: (value: string) => string): string {
  return template
    .map((part) => (typeof part === 'string' ? part : encode(lookUp(values, part.path))))
    .join('')
}

/** Looks up own members only, so `{{ .Data.constructor }}` prints nothing, like every unknown name. */
function lookUp(values: TemplateValues, path: readonly string[]): string {
  let value: unknown = values
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return ''
    value = (value as Record<string, unknown>)[name]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : ''
}

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }),
)

const escapeHtml = (value: string) => value.replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? '')
