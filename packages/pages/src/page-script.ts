import { createHash } from 'node:crypto'
import type { Answer } from '@signet/http'

/** A script of pages, to be served by the service at `path`. Its URL changes with its content, so browsers may cache it forever. */
export function pageScript(content: string) {
  const version = createHash('sha256').update(content).digest('base64url').slice(0, 10)
  return {
    at: (path: string): string => `${path}?v=${version}`,
    answer: {
      headers: {
        'Content-Type': 'text/javascript; charset=utf-8',
        'X-Content-Type-Options': 'nosniff',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Cache-Control': 'public, max-age=31536000, immutable',
      },
      body: content,
    } satisfies Answer,
  }
}
