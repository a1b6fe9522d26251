import type { Brand, Palette } from '@signet/brand'
import type { LayoutTexts } from './texts.js'

export type Attachment = { cid: string; filename: string; contentType: string; content: Buffer }

const LOGO_ID = 'logo@brand'
const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

/** Attaches the logo to the email, so that nothing is fetched when it is read. Mail programs do not show SVG. */
export const logoAttachments = ({ logo }: Brand): readonly Attachment[] =>
  logo?.type === 'image/png'
    ? [{ cid: LOGO_ID, filename: 'logo.png', contentType: logo.type, content: logo.bytes }]
    : []

export function mailHeader(brand: Brand, { text }: Palette): string {
  const [logo] = logoAttachments(brand)
  const image =
    logo === undefined
      ? ''
      : `<img src="cid:${logo.cid}" alt="" height="28" style="height:28px;vertical-align:middle;margin-right:10px;border:0">`
  return `<p class="name" style="margin:0;padding:24px 0 20px;${FONT};font-size:17px;font-weight:700;color:${text}">${image}${escaped(brand.name)}</p>`
}

type Line = readonly [label: string, url: string]

function linesOf({ support, imprintUrl, privacyUrl, termsUrl }: Brand, t: LayoutTexts): Line[] {
  const help = support === null || support.startsWith('https://') ? support : `mailto:${support}`
  const all: [string, string | null][] = [
    [t('support'), help],
    [t('imprint'), imprintUrl],
    [t('privacy'), privacyUrl],
    [t('terms'), termsUrl],
  ]
  return all.flatMap(([label, url]) => (url === null ? [] : [[label, url] as const]))
}

export function mailFooter(brand: Brand, { soft }: Palette, t: LayoutTexts): string {
  const links = linesOf(brand, t).map(
    ([label, url]) => `<a class="legal" href="${escaped(url)}" style="color:${soft}">${escaped(label)}</a>`,
  )
  return links.length === 0
    ? ''
    : `<p class="legal" style="margin:0;padding:20px 0;${FONT};font-size:13px;color:${soft}">${links.join(' &nbsp; ')}</p>`
}

export const footerText = (brand: Brand, t: LayoutTexts): string =>
  linesOf(brand, t)
    .map(([label, url]) => `${label}: ${url.replace('mailto:', '')}`)
    .join('\n')

// Settings are not templates, so braces are escaped too and nothing in them is replaced.
const escaped = (text: string): string =>
  text.replace(/[&<>"'{}]/g, (character) => `&#${character.charCodeAt(0)};`)
