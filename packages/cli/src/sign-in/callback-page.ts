import { createHash } from 'node:crypto'

const STYLE = [
  ':root{color-scheme:light dark}',
  'body{font:1.1rem/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:90vh;margin:1rem}',
  'main{max-width:26rem;text-align:center}',
  'h1{font-size:1.4rem}',
].join('')
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Nothing is loaded, run or framed, and the address with the code in it is told to nobody. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

const TEXTS = {
  received: ['Back to your terminal', 'Signet has your answer. You can close this window.'],
  denied: ['Not signed in', 'The terminal says why. You can close this window.'],
  foreign: [
    'This is not the sign-in the terminal waits for',
    'Start again with <code>signet login</code>. You can close this window.',
  ],
} as const

/** A whole page. It holds no text that came with the request. */
export function callbackPage(kind: keyof typeof TEXTS): string {
  const [title, text] = TEXTS[kind]
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>Signet</title><style>${STYLE}</style></head>` +
    `<body><main><h1>${title}</h1><p>${text}</p></main></body></html>`
  )
}
