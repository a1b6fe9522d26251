import { ServerFailureError } from '../errors.js'
import { VERSION } from '../version.js'
import { parseJson } from '../json/parse-json.js'
import { networkFailure, wasClosed } from './network-failure.js'

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  url: URL
  bearer?: string
  body?: unknown
  headers?: Readonly<Record<string, string>>
}

export type HttpAnswer = { status: number; headers: Headers; body: unknown; url: URL }

const TIMEOUT_MS = 30_000
/** Larger than any response: an event has no size limit of its own, but is made from a body of at most 32 MiB. */
const MAX_BODY_BYTES = 64 * 1024 * 1024
const USER_AGENT = `signet-cli/${VERSION}`

/** JSON over HTTP. Returns every JSON response regardless of its status, and throws a CliError for everything else. */
export class HttpClient {
  constructor(private readonly timeoutMs: number = TIMEOUT_MS) {}

  async send({ method, url, bearer, body, headers }: HttpRequest): Promise<HttpAnswer> {
    const response = await this.fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...headers,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: await this.#json(response, url), url }
  }

  /**
   * Calls fetch with our limits: no redirects (they would carry a token elsewhere), one deadline that includes the body, and a maximum
   * body size. Repeats a GET once if its connection was closed: the server may have ended an idle connection just before the request
   * arrived (RFC 9112 section 9.3.1).
   */
  async fetch(url: URL, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('user-agent', USER_AGENT)
    const signal = AbortSignal.timeout(this.timeoutMs)
    const send = () => fetch(url, { ...init, headers, redirect: 'manual', signal })
    try {
      return limited(
        await send().catch((error: unknown) => {
          if (init.method === 'GET' && wasClosed(error)) return send()
          throw error
        }),
      )
    } catch (error) {
      throw networkFailure(error, url, this.timeoutMs)
    }
  }

  async #json(response: Response, url: URL): Promise<unknown> {
    const text = await response.text().catch((error: unknown) => {
      if (error instanceof BodyTooLongError) throw notThisService(response.status, url)
      throw networkFailure(error, url, this.timeoutMs)
    })
    try {
      return parseJson(text)
    } catch {
      throw notThisService(response.status, url)
    }
  }
}

class BodyTooLongError extends Error {}

/** Returns the same response with a limit on its body: reading fails once the body is longer than this service ever sends. */
function limited(response: Response): Response {
  if (response.body === null) return response
  let left = MAX_BODY_BYTES
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) controller.error(new BodyTooLongError())
      else controller.enqueue(chunk)
    },
  })
  // Leaves out the reason phrase: a server may send one that the `Response` constructor rejects.
  const { status, headers } = response
  return new Response(response.body.pipeThrough(counted), { status, headers })
}

export function notThisService(status: number, url: URL): ServerFailureError {
  return new ServerFailureError(`${url.host} answered HTTP ${status} without the JSON of this service`, {
    hint: 'Check the address: --url or SIGNET_URL, --auth-url or SIGNET_AUTH_URL.',
  })
}
