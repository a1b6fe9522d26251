import { createHash } from 'node:crypto'
import { type Answer } from '@signet/http'

/** In milliseconds. Longer than any answer takes; after it an attempt that led nowhere can be repeated. */
const PATIENCE_MS = 10_000

/**
 * Sends no form while another one of the page is under way. Passwords renew the session, codes and decisions work once: a
 * second click would have the answer of the first thrown away and show a refusal instead. Buttons are not disabled,
 * because a disabled one loses its name and value.
 */
const SCRIPT = `{
  let sentAt = -Infinity
  addEventListener('submit', (event) => {
    if (event.timeStamp - sentAt < ${PATIENCE_MS}) event.preventDefault()
    else sentAt = event.timeStamp
  })
  // The page may have been kept while the person was on the next one, and came back.
  addEventListener('pageshow', () => {
    sentAt = -Infinity
  })
}
`

const VERSION = createHash('sha256').update(SCRIPT).digest('base64url').slice(0, 10)

/** The one script of pages with forms, for a route of the service that has them. Without it all of them work as well. */
export const formScript = {
  /** Address of the script, whose route is at `path`; another text has another address. */
  at: (path: string): string => `${path}?v=${VERSION}`,
  answer: {
    headers: {
      'Content-Type': 'text/javascript; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cache-Control': 'public, max-age=31536000, immutable',
    },
    body: SCRIPT,
  } satisfies Answer,
}
