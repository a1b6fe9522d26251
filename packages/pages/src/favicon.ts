import type { Answer } from '@signet/http'

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#4338ca" stroke-width="2.4"><circle cx="12" cy="12" r="9" fill="#fff"/><path d="M8 12.5l2.7 2.7L16 9.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`

/** The icon of the pages, to be served by the service, also at `/favicon.ico`, which browsers ask for unasked. */
export const favicon = {
  headers: {
    'Content-Type': 'image/svg+xml',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'public, max-age=86400',
  },
  body: SVG,
} satisfies Answer
