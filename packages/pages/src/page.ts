import { randomBytes } from 'node:crypto'
import { type Answer } from '@signet/http'
import { html, Html } from './html.js'
import { styles } from './styles.js'

export type Page = {
  title: string
  body: Html
  /** Script text in the page; only the landing page of other sign-ins has one. */
  script?: string
  /** Further sources for the content security policy, by directive. */
  allow?: Readonly<Record<string, readonly string[]>>
}

export type PageOptions = {
  status?: number
  headers?: Record<string, string>
  /** Whether the public address of the service is https. */
  secure: boolean
  /** Address of the script that pages with forms load. */
  formScript?: string
}

/** What differs from one answer to the next. */
type Frame = { nonce: string; formScript: string | undefined }

/** A page as an answer, with the headers of webhooks contract B.9. */
export function pageAnswer(
  page: Page,
  { status = 200, headers = {}, secure, formScript }: PageOptions,
): Answer {
  const nonce = randomBytes(16).toString('base64')
  // What people typed is escaped, so this is a form of ours.
  const frame = { nonce, formScript: page.body.text.includes('<form') ? formScript : undefined }
  return {
    status,
    headers: { ...pageHeaders(page, frame, secure), ...headers },
    body: document(page, frame).text,
  }
}

function pageHeaders(page: Page, frame: Frame, secure: boolean): Record<string, string> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy(page, frame),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
    // With no-referrer, browsers would send `Origin: null` on our own forms, which the form guard refuses.
    'Referrer-Policy': 'same-origin',
    ...(secure ? { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' } : {}),
  }
}

// No form-action: browsers apply it to the redirects after the form too, so Approve would silently do nothing.
function contentSecurityPolicy({ script, allow = {} }: Page, { nonce, formScript }: Frame): string {
  const hasScript = script !== undefined || formScript !== undefined
  const ours: Record<string, string[]> = {
    'default-src': ["'none'"],
    'style-src': [`'nonce-${nonce}'`],
    ...(hasScript ? { 'script-src': [`'nonce-${nonce}'`] } : {}),
    ...(script === undefined ? {} : { 'connect-src': ["'self'"] }),
  }
  const directives = new Set([...Object.keys(ours), ...Object.keys(allow)])
  return [...directives]
    .map((name) => [name, ...(ours[name] ?? []), ...(allow[name] ?? [])].join(' '))
    .concat("base-uri 'none'", "frame-ancestors 'none'")
    .join('; ')
}

const document = ({ title, body, script }: Page, { nonce, formScript }: Frame): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        <style nonce="${nonce}">
          ${new Html(styles)}
        </style>
        ${formScript === undefined ? null : html`<script src="${formScript}" nonce="${nonce}" defer></script>`}
      </head>
      <body>
        <main>
          <p class="brand">${SEAL}<span>Signet</span></p>
          <div class="card">${body}</div>
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
