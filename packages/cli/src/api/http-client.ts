import { ServerFailureError } from '../errors.js'
import { VERSION } from '../version.js'
import { networkFailure } from './network-failure.js'

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  url: URL
  bearer?: string
  body?: unknown
  headers?: Readonly<Record<string, string>>
}

export type HttpAnswer = { status: number; headers: Headers; body: unknown; url: URL }

const TIMEOUT_MS = 30_000
const USER_AGENT = `signet-cli/${VERSION}`

/** JSON over HTTP. Returns every JSON response regardless of its status, and throws a CliError for all else. */
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

  /** fetch with our limits: no redirects (they would carry a token elsewhere), one deadline over body and all. */
  async fetch(url: URL, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('user-agent', USER_AGENT)
    try {
      return await fetch(url, {
        ...init,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(this.timeoutMs),
      })
    } catch (error) {
      throw networkFailure(error, url, this.timeoutMs)
    }
  }

  async #json(response: Response, url: URL): Promise<unknown> {
    const text = await response.text().catch((error: unknown) => {
      throw networkFailure(error, url, this.timeoutMs)
    })
    try {
      return JSON.parse(text)
    } catch {
      throw notThisService(response.status, url)
    }
  }
}

export function notThisService(status: number, url: URL): ServerFailureError {
  return new ServerFailureError(`${url.host} answered HTTP ${status} without the JSON of this service`, {
    hint: 'Check the address: --url or SIGNET_URL, --auth-url or SIGNET_AUTH_URL.',
  })
}
