import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { aBrowser, startUi } from './support.js'

it('shows the pages, errors too, with the name, logo, color and links of the operator', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'logo-'))
  const logo = join(folder, 'logo.svg')
  writeFileSync(logo, '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  const server = await startUi({
    AUTH_BRAND_NAME: 'Acme',
    AUTH_BRAND_LOGO: logo,
    AUTH_BRAND_ACCENT_COLOR: '#005f2f',
    AUTH_BRAND_SUPPORT: 'help@acme.example',
    AUTH_BRAND_PRIVACY_URL: 'https://acme.example/privacy',
  })
  try {
    for (const path of ['/ui', '/', '/ui/nowhere']) {
      const { text } = await aBrowser(server).get(path)
      expect(text).toContain('<span>Acme</span>')
      expect(text).toContain('<img src="/ui/icon" alt="" />')
      expect(text).toContain('--accent: #005f2f')
      expect(text).toContain('<a href="mailto:help@acme.example">Support</a>')
      expect(text).toContain('<a href="https://acme.example/privacy">Privacy</a>')
      expect(text).not.toContain('Signet')
    }
    const icon = await fetch(`${server.url}/ui/icon`)
    expect(icon.headers.get('content-type')).toBe('image/svg+xml')
    // The sandbox keeps scripts in the icon from running when it is opened by itself.
    expect(icon.headers.get('content-security-policy')).toContain('sandbox')
    expect(await icon.text()).toContain('<svg')
  } finally {
    await server.close()
    rmSync(folder, { recursive: true })
  }
})
