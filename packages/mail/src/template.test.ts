import { describe, expect, it } from '@jest/globals'
import { parseTemplate, renderHtml, renderSubject, renderText } from './template.js'

const values = {
  Email: 'ann@example.com',
  Token: '123456',
  Data: {
    name: '<b>"Ann" & \'Co\'</b>',
    age: 42,
    vip: true,
    tags: ['a'],
    nested: { city: 'Ulm' },
    'first-name': 'A',
  },
}
const html = (text: string) => renderHtml(parseTemplate(text), values)

describe('email templates (apps/auth/docs/specification.md#emails)', () => {
  it.each([
    ['{{ .Email }}', 'ann@example.com'],
    ['{{.Email}}', 'ann@example.com'],
    ['a {{ .Email }} b {{\n.Token }} c', 'a ann@example.com b 123456 c'],
    ['{{ .Data.age }} {{ .Data.vip }} {{ .Data.nested.city }} {{ .Data.first-name }}', '42 true Ulm A'],
    ['no actions, { braces } and $& alone', 'no actions, { braces } and $& alone'],
  ])('renders %j', (template, text) => {
    expect(html(template)).toBe(text)
  })

  it.each([
    '{{ .Unknown }}',
    '{{ .Data.missing }}',
    '{{ .Data.tags }}',
    '{{ .Data }}',
    '{{ .Email.length }}',
  ])('prints nothing for %s', (template) => {
    expect(html(`[${template}]`)).toBe('[]')
  })

  it.each([
    '{{ .constructor }}',
    '{{ .Data.__proto__.x }}',
    '{{ .Data.constructor.name }}',
    '{{ .toString }}',
  ])('does not reach beyond the values: %s', (template) => {
    expect(html(template)).toBe('')
  })

  it('escapes values in bodies, so they cannot add markup or leave an attribute', () => {
    expect(html('<a title="{{ .Data.name }}">')).toBe(
      '<a title="&lt;b&gt;&quot;Ann&quot; &amp; &#39;Co&#39;&lt;/b&gt;">',
    )
  })

  it('does not read a value as a template', () => {
    expect(renderHtml(parseTemplate('{{ .Email }}'), { Email: '{{ .Token }}', Token: 'x' })).toBe(
      '{{ .Token }}',
    )
  })

  it('escapes nothing in subjects and text, and keeps subjects on one line', () => {
    const template = parseTemplate('{{ .Data.name }}\n{{ .Injected }}')
    const injected = { ...values, Injected: 'x\r\nBcc: evil@example.com' }
    expect(renderText(template, injected)).toContain('"Ann" & \'Co\'')
    expect(renderSubject(template, injected)).toBe('<b>"Ann" & \'Co\'</b>xBcc: evil@example.com')
  })

  it.each([
    '{{ if .Data.x }}a{{ end }}',
    '{{ .Email',
    '{{ Email }}',
    '{{ . }}',
    '{{}}',
    '{{ .Email | upper }}',
  ])('refuses %j, which it would render wrong', (template) => {
    expect(() => parseTemplate(template)).toThrow(/not supported|not closed/)
  })
})
