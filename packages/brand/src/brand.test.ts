import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { loadConfig } from '@signet/config'
import { contrast } from './contrast.js'
import { brandOf, brandSettings, palettes, SIGNET, tokenRules } from './index.js'

const settings = brandSettings('X')
const load = (env: Record<string, string> = {}) => brandOf(loadConfig(settings, env))

const folder = mkdtempSync(join(tmpdir(), 'brand-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('contrast', () => {
  it('is that of WCAG', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  })
})

describe('the palettes', () => {
  it.each(['#4338ca', '#000000', '#005f2f', '#8a0f3c', '#6b4e00'])('of %s are readable', (accent) => {
    for (const palette of Object.values(palettes(accent))) {
      const pairs = [
        [palette.text, palette.bg],
        [palette.text, palette.card],
        [palette.soft, palette.bg],
        [palette.soft, palette.card],
        [palette.accent, palette.bg],
        [palette.accent, palette.card],
        [palette.onAccent, palette.accent],
        [palette.good, palette.card],
        [palette.bad, palette.card],
        [palette.bad, palette.badSoft],
        [palette.warn, palette.warnSoft],
      ] as const
      for (const [ink, ground] of pairs)
        expect([ink, ground, contrast(ink, ground) >= 4.5]).toEqual([ink, ground, true])
    }
  })

  it('are custom properties for the style sheet', () => {
    const rules = tokenRules('#005f2f')
    expect(rules).toContain('--accent: #005f2f')
    expect(rules).toContain('--on-accent: #ffffff')
    expect(rules).toMatch(/prefers-color-scheme: dark\) \{ :root \{ --bg: #101018/)
  })
})

describe('the brand of an operator', () => {
  it('is Signet without settings', () => {
    expect(load()).toEqual(SIGNET)
  })

  it('has what the settings say', () => {
    const svg = file(
      'logo.svg',
      '<?xml version="1.0"?>\n<!-- drawn -->\n<svg xmlns="http://www.w3.org/2000/svg"/>',
    )
    expect(
      load({ X_BRAND_NAME: 'Müller & Söhne', X_BRAND_LOGO: svg, X_BRAND_ACCENT_COLOR: '#005F2F' }),
    ).toMatchObject({
      name: 'Müller & Söhne',
      accent: '#005f2f',
      logo: { type: 'image/svg+xml' },
    })
    expect(load({ X_BRAND_LOGO: file('logo.png', PNG) }).logo).toEqual({ type: 'image/png', bytes: PNG })
    expect(
      load({ X_BRAND_SUPPORT: 'help@example.com', X_BRAND_TERMS_URL: 'https://example.com/terms' }),
    ).toMatchObject({
      support: 'help@example.com',
      termsUrl: 'https://example.com/terms',
    })
  })

  it.each([
    ['X_BRAND_NAME', 'Evil\u202eeman', '60 characters'],
    // Braces have a meaning in the templates of emails.
    ['X_BRAND_NAME', '{{ .Token }}', 'braces'],
    ['X_BRAND_ACCENT_COLOR', 'red', 'like #4338ca'],
    ['X_BRAND_ACCENT_COLOR', '#ffcc00', 'contrast to the page is 1.4, and text needs 4.5'],
    ['X_BRAND_ACCENT_COLOR', '#4338ca;}body{display:none', 'like #4338ca'],
    ['X_BRAND_SUPPORT', 'javascript:alert(1)', 'email address'],
    ['X_BRAND_PRIVACY_URL', 'javascript:alert(1)', 'https URL'],
    ['X_BRAND_LOGO', join(folder, 'nowhere.svg'), 'cannot be read'],
    ['X_BRAND_LOGO', folder, 'no file'],
  ])('%s=%s stops the service, and says why', (name, value, problem) => {
    expect(() => load({ [name]: value })).toThrow(problem)
  })

  it('has a logo that is an image, and a small one', () => {
    expect(() => load({ X_BRAND_LOGO: file('page.svg', '<html><script>alert(1)</script></html>') })).toThrow(
      'neither',
    )
    expect(() =>
      load({ X_BRAND_LOGO: file('huge.png', Buffer.concat([PNG, Buffer.alloc(200_000)])) }),
    ).toThrow('larger')
  })
})
