import { createHash } from 'node:crypto'
import type { Answer } from '@signet/http'

/** In milliseconds. Longer than any response takes; afterwards a form that got none can be submitted again. */
const RESUBMIT_AFTER_MS = 10_000

/**
 * Blocks a second submission while one is in progress. A password renews the session, and codes and decisions work only once: a
 * second click would discard the first response and show an error instead. Does not disable buttons, because a disabled
 * button does not submit its name and value.
 */
const SCRIPT = `{
  let sentAt = -Infinity
  addEventListener('submit', (event) => {
    if (event.timeStamp - sentAt < ${RESUBMIT_AFTER_MS}) event.preventDefault()
    else sentAt = event.timeStamp
  })
  // The browser may restore the page from its back/forward cache.
  addEventListener('pageshow', () => {
    sentAt = -Infinity
  })
}
`

const VERSION = createHash('sha256').update(SCRIPT).digest('base64url').slice(0, 10)

/** The script of pages with forms, to be served by the service. Forms also work without it. */
export const formScript = {
  /** URL of the script, served at `path`. It changes with the content. */
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
