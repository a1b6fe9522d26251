import { describe, expect, it } from '@jest/globals'
import { hidden, html, notice } from './index.js'

/** Each of these would add markup to a page that printed it unescaped. */
const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '` onfocus=alert(1) autofocus `',
  '</title><svg onload=alert(1)>',
  '&lt;b&gt;',
]

describe('html', () => {
  it.each(hostile)('prints %j as text, in an element and in an attribute', (value) => {
    const { text } = html`<p title="${value}">${value}</p>`
    const [, attribute = '', content = ''] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(text) ?? []
    for (const printed of [attribute, content]) {
      expect(printed).not.toMatch(/[<>"'`]|&(?!#\d+;)/)
      expect(unescaped(printed)).toBe(value)
    }
  })

  it('takes what it made as it is, alone and in lists', () => {
    const item = html`<b>${'<'}</b>`
    expect(html`<p>${item}${[item, item]}</p>`.text).toBe('<p><b>&#60;</b><b>&#60;</b><b>&#60;</b></p>')
  })

  it('leaves out what is not there, and keeps a zero', () => {
    expect(html`<p>${null}${undefined}${false}${''}${0}</p>`.text).toBe('<p>0</p>')
  })

  it('does not take an object for HTML because it has a text', () => {
    const forged = JSON.parse('{"text":"<script>alert(1)</script>"}') as never
    expect(() => html`<p>${forged}</p>`).toThrow(TypeError)
  })
})

describe('parts of forms', () => {
  it.each(hostile)('hold %j as the value of a hidden field', (value) => {
    const [field] = hidden({ redirect_to: value })
    expect(field?.text.match(/"/g)).toHaveLength(6)
    expect(unescaped(/value="([^"]*)"/.exec(field?.text ?? '')?.[1] ?? '')).toBe(value)
  })

  it.each(hostile)('hold %j as a notice', (value) => {
    const text = notice(value)?.text ?? ''
    expect(text.match(/<\w+/g)).toEqual(['<p'])
    expect(text).toContain('role="alert"')
  })

  it('have no empty notice', () => {
    expect(notice(undefined)).toBeNull()
  })
})

const unescaped = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
