import { SIGNET, type Brand } from '@signet/brand'
import type { Answer } from '@signet/http'
import type { Language } from '@signet/language'
import { html, type Html } from './html.js'
import { kitTexts } from './page-texts.js'

const drawn = (accent: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="${accent}" stroke-width="2.4"><circle cx="12" cy="12" r="9" fill="#fff"/><path d="M8 12.5l2.7 2.7L16 9.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`

/**
 * The logo, or the built-in mark in the brand's color. The service should also serve it at `/favicon.ico`, which browsers request by
 * default. An SVG opened on its own could run scripts, so its policy forbids them.
 */
export const brandIcon = ({ logo, accent }: Brand = SIGNET): Answer => ({
  headers: {
    'Content-Type': logo?.type ?? 'image/svg+xml',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'public, max-age=86400',
  },
  body: logo?.bytes ?? drawn(accent),
})

/** Name and logo above a page. `icon` is the URL of the logo. */
export function brandHeader({ name, logo }: Brand, icon: string | undefined): Html {
  const image = icon === undefined ? null : html`<img src="${icon}" alt="" />`
  return html`<p class="brand">${logo === null ? SEAL : image}${html`<span>${name}</span>`}</p>`
}

/** Help and legal links at the foot of a page. Renders nothing if the operator set none. */
export function legalFooter(
  { support, imprintUrl, privacyUrl, termsUrl }: Brand,
  language: Language,
): Html | null {
  const t = kitTexts(language)
  const links = [
    [support === null ? null : supportUrl(support), t('kit.legal.support')],
    [imprintUrl, t('kit.legal.imprint')],
    [privacyUrl, t('kit.legal.privacy')],
    [termsUrl, t('kit.legal.terms')],
  ] as const
  const shown = links.flatMap(([url, label]) => (url === null ? [] : [html`<a href="${url}">${label}</a> `]))
  return shown.length === 0 ? null : html`<footer class="legal">${shown}</footer>`
}

const supportUrl = (support: string): string =>
  support.startsWith('https://') ? support : `mailto:${support}`

const SEAL = html`<svg
  viewBox="0 0 24 24"
  fill="none"
  stroke="currentColor"
  stroke-width="2"
  aria-hidden="true"
>
  <circle cx="12" cy="12" r="9" />
  <path d="M8 12.5l2.7 2.7L16 9.5" stroke-linecap="round" stroke-linejoin="round" />
</svg>`
