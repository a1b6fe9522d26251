import { create } from 'qrcode'
import { describe, expect, it } from '@jest/globals'
import { qrCodeSvg } from './qr-code.js'

const URI = `otpauth://totp/app.example.com:someone@example.com?algorithm=SHA1&digits=6&issuer=app.example.com&period=30&secret=${'A'.repeat(32)}`

describe('QR code (docs/specification.md#factors)', () => {
  it('is SVG that survives in an unescaped data URL', () => {
    const svg = qrCodeSvg(URI)
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg".*<\/svg>$/)
    expect(svg).not.toMatch(/[#%\n\r]/)
  })

  it('draws exactly the dark modules, with a margin of four', () => {
    const { modules } = create(URI, { errorCorrectionLevel: 'M' })
    const svg = qrCodeSvg(URI)
    const drawn = new Set<string>()
    const path = /fill="black" d="([^"]*)"/.exec(svg)?.[1] ?? ''
    for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g))
      for (let i = 0; i < Number(length); i++) drawn.add(`${Number(x) + i - 4},${Number(y) - 4}`)
    const dark: string[] = []
    for (let y = 0; y < modules.size; y++)
      for (let x = 0; x < modules.size; x++) if (modules.get(y, x)) dark.push(`${x},${y}`)
    expect([...drawn].sort()).toEqual(dark.sort())
    expect(svg).toContain(`viewBox="0 0 ${modules.size + 8} ${modules.size + 8}"`)
  })
})
