import { readFileSync } from 'node:fs'
import { checkedFetch, documentChecker } from '@signet/testkit/open-api'

type Checker = ReturnType<typeof documentChecker>

/** The document is current: a test compares it with the routes. */
const fitsInternal = documentChecker(
  JSON.parse(readFileSync(new URL('../../docs/openapi-internal.json', import.meta.url), 'utf8')) as object,
)

/** Of the services that tests asked, as each describes itself; some offer less than others. */
const publicCheckers = new Map<string, Promise<Checker>>()

async function publicChecker(base: string): Promise<Checker> {
  const response = await fetch(`${base}/openapi.json`)
  return documentChecker((await response.json()) as object)
}

function checkerOf(base: string): Promise<Checker> {
  const checker = publicCheckers.get(base) ?? publicChecker(base)
  publicCheckers.set(base, checker)
  return checker
}

/** `fetch`, and each answer of the service must be one that its documents promise. */
export const documentedFetch =
  ({ base, internal }: { base: string; internal?: string }) =>
  async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const inside = { fits: fitsInternal, undocumented: /^\/(?:metrics|healthz|readyz)/ }
    const services = [
      { base, fits: await checkerOf(base), undocumented: /^\/?$|^\/(?:portal|favicon|healthz|readyz)/ },
      ...(internal === undefined ? [] : [{ base: internal, ...inside }]),
    ]
    return checkedFetch(services)(url, init)
  }
