import type { documentChecker } from './document-checker.js'

export type CheckedService = {
  /** Where the paths of the document begin, without a slash at the end. */
  base: string
  fits: ReturnType<typeof documentChecker>
  /** Paths of pages and probes, which are in no document. */
  undocumented: RegExp
}

/** `fetch`, and each answer of the services must be one that their documents promise. Answers of others pass. */
export const checkedFetch =
  (services: readonly CheckedService[]) =>
  async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(input, init)
    const url = String(input)
    const { method = 'GET' } = init
    const service = services.find(
      ({ base }) => url === base || (/^[/?]/.test(url.slice(base.length)) && url.startsWith(base)),
    )
    if (service === undefined || method === 'HEAD' || method === 'OPTIONS') return response
    const path = url.slice(service.base.length)
    if (service.undocumented.test(path)) return response
    const { status, headers } = response
    service.fits(method, path, { status, headers, body: await bodyOf(response.clone()) })
    return response
  }

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text()
  return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : undefined
}
