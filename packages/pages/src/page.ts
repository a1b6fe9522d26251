import { randomBytes } from 'node:crypto'
import { SIGNET, tokenRules, type Brand } from '@signet/brand'
import type { Answer } from '@signet/http'
import { DEFAULT_LANGUAGE, type Language } from '@signet/language'
import { html, Html } from './html.js'
import { kitTexts } from './page-texts.js'
import { brandHeader, legalFooter } from './brand.js'
import { styles } from './styles.js'

export type Page = {
  title: string
  body: Html
  /** Inline script. Only the callback page of other sign-in methods has one. */
  script?: string
  /** URLs of further scripts that the page loads. */
  load?: readonly string[]
  /** The page polls this server to find out when to continue. */
  polls?: boolean
  /** Rules that come after the style sheet of all pages. */
  style?: string
  /** Additional sources for the Content-Security-Policy, by directive. */
  allow?: Readonly<Record<string, readonly string[]>>
}

export type PageOptions = {
  status?: number
  headers?: Record<string, string>
  /** The language of the texts of the page. */
  language?: Language
  /** Whether the public URL of the service uses https. */
  secure: boolean
  /** URL of the script that pages with forms load. */
  formScript?: string
  /** URL of the {@link brandIcon}, to be served by the service. */
  icon?: string
  brand?: Brand
}

/** What differs between responses. */
type Frame = {
  nonce: string
  language: Language
  formScript: string | undefined
  icon: string | undefined
  brand: Brand
}

/** A page as a response, with security headers: CSP, no-store, nosniff, no framing, and HSTS over https (decision 0111). */
export function pageAnswer(
  page: Page,
  {
    status = 200,
    headers = {},
    language = DEFAULT_LANGUAGE,
    secure,
    formScript,
    icon,
    brand = SIGNET,
  }: PageOptions,
): Answer {
  const nonce = randomBytes(16).toString('base64')
  // User input is escaped, so this is one of our own forms.
  const needsScript = page.polls === true || page.body.text.includes('<form')
  const frame = {
    nonce,
    brand,
    language,
    icon,
    formScript: needsScript ? formScript : undefined,
  }
  return {
    status,
    headers: { ...pageHeaders(page, frame, secure), ...headers },
    body: document(page, frame).text,
  }
}

function pageHeaders(page: Page, frame: Frame, secure: boolean): Record<string, string> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Language': frame.language,
    Vary: 'Accept-Language',
    'Content-Security-Policy': contentSecurityPolicy(page, frame),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
    // With no-referrer, browsers would send `Origin: null` with our own forms, and the form guard would reject them.
    'Referrer-Policy': 'same-origin',
    ...(secure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  }
}

// No form-action: browsers also apply it to redirects after the form, so Approve would silently do nothing.
function contentSecurityPolicy(
  { script, load = [], polls, allow = {} }: Page,
  { nonce, formScript, icon }: Frame,
): string {
  const hasScript = script !== undefined || formScript !== undefined || load.length > 0
  const ours: Record<string, string[]> = {
    'default-src': ["'none'"],
    'style-src': [`'nonce-${nonce}'`],
    ...(hasScript ? { 'script-src': [`'nonce-${nonce}'`] } : {}),
    ...(script !== undefined || (polls && hasScript) ? { 'connect-src': ["'self'"] } : {}),
    ...(icon === undefined ? {} : { 'img-src': ["'self'"] }),
  }
  const directives = new Set([...Object.keys(ours), ...Object.keys(allow)])
  return [...directives]
    .map((name) => [name, ...(ours[name] ?? []), ...(allow[name] ?? [])].join(' '))
    .concat("base-uri 'none'", "frame-ancestors 'none'")
    .join('; ')
}

/** Lets keyboard users skip the navigation and go to the {@link contentHeading}. */
export const skipLink = (language: Language): Html =>
  html`<a class="skip" href="#content">${kitTexts(language)('kit.skip')}</a>`

// User input is escaped, so this is our own heading.
const hasContentHeading = ({ text }: Html): boolean => text.includes('id="content"')

/** The heading of a page whose navigation comes before it. */
export const contentHeading = (title: string): Html => html`<h1 id="content" tabindex="-1">${title}</h1>`

const document = (
  { title, body, script, load = [], style = '' }: Page,
  { nonce, language, formScript, icon, brand }: Frame,
): Html =>
  html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        ${icon === undefined ? null : html`<link rel="icon" href="${icon}" />`}
        <title>${title}</title>
        <style nonce="${nonce}">
          ${new Html(tokenRules(brand.accent) + styles + style)}
        </style>
        ${[...(formScript === undefined ? [] : [formScript]), ...load].map((url) => html`<script src="${url}" nonce="${nonce}" defer></script>`)}
      </head>
      <body>
        ${hasContentHeading(body) ? skipLink(language) : null}
        <main>
          ${brandHeader(brand, icon)}
          <div class="card">${body}</div>
          ${legalFooter(brand, language)}
        </main>
        ${
          script === undefined
            ? null
            : html`<script nonce="${nonce}">
                ${new Html(script)}
              </script>`
        }
      </body>
    </html>`
