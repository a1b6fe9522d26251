import { describe, expect, it } from '@jest/globals'
import { SIGNET } from '@signet/brand'
import { brandIcon, html, pageAnswer } from './index.js'

const logo = {
  type: 'image/svg+xml',
  bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
} as const
const brand = {
  ...SIGNET,
  name: 'Müller & <Söhne>',
  logo,
  accent: '#005f2f',
  support: 'help@example.com',
  imprintUrl: 'https://example.com/imprint',
  termsUrl: 'https://example.com/terms?a=1&b=2',
}
const page = { title: 'A page', body: html`<p>Hello</p>` }
const shown = (options: Partial<Parameters<typeof pageAnswer>[1]>) =>
  String(pageAnswer(page, { secure: true, icon: '/icon', ...options }).body)

describe('the brand of a page', () => {
  it('is in its header, its color and its foot', () => {
    const text = shown({ brand, language: 'de' })
    expect(text).toMatch(/<img src="\/icon" alt="" \/><span>Müller &#38; &#60;Söhne&#62;<\/span>/)
    expect(text).toContain('--accent: #005f2f')
    expect(text).toContain('<a href="mailto:help@example.com">Hilfe</a>')
    expect(text).toContain('<a href="https://example.com/imprint">Impressum</a>')
    expect(text).toContain('<a href="https://example.com/terms?a=1&#38;b=2">Nutzungsbedingungen</a>')
    expect(text).not.toContain('Datenschutz')
    expect(text).not.toContain('Signet')
  })

  it('is ours without settings, with no foot', () => {
    const text = shown({})
    expect(text).toContain('<span>Signet</span>')
    expect(text).not.toContain('<footer')
  })

  it('has a logo that can run no scripts where it is opened by itself', () => {
    const { headers, body } = brandIcon(brand)
    expect(headers?.['Content-Security-Policy']).toContain('sandbox')
    expect(headers?.['Content-Type']).toBe('image/svg+xml')
    expect(body).toBe(logo.bytes)
    expect(brandIcon({ ...SIGNET, accent: '#005f2f' }).body).toContain('stroke="#005f2f"')
  })
})
