import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { jsonLines } from '../json-lines.js'
import type { documentChecker } from './document-checker.js'

/** A service that this process serves, and what its document promises. */
export type WatchedService = {
  /** 0 if the process picks a free port itself; then everything it serves belongs to this service. */
  port: number
  /** The prefix of all paths of the document, without a trailing slash; answers to other paths are not checked. */
  basePath?: string
  fits: ReturnType<typeof documentChecker>
  /** Paths of pages and probes, which are in no document. */
  undocumented: RegExp
}

/** Node publishes here every request that a server of this process receives. */
const CHANNEL = 'http.server.request.start'
type Exchange = { request: IncomingMessage; response: ServerResponse }

/**
 * Compares every response of the services with their documents, no matter who called: a browser, a third-party library, or the
 * test itself. Calls `wrong` for each undocumented response. Returns a function that ends the watch (decision 0197).
 */
export function watchAnswers(services: readonly WatchedService[], wrong: (problem: string) => void) {
  const watch = (message: unknown) => {
    const { request, response } = message as Exchange
    const service = services.find(({ port }) => port === 0 || port === request.socket.localPort)
    const { method = '', url = '' } = request
    if (service === undefined || method === 'HEAD' || method === 'OPTIONS') return
    const path = pathBelow(service.basePath ?? '', url)
    if (path === undefined || service.undocumented.test(path)) return
    const written = recordBody(response)
    response.once('finish', () => {
      try {
        const headers = new Headers(Object.entries(response.getHeaders()).map(([k, v]) => [k, String(v)]))
        const body = bodyOf(headers.get('content-type') ?? '', written())
        service.fits(method, path, { status: response.statusCode, headers, body })
      } catch (error) {
        wrong((error as Error).message)
      }
    })
  }
  subscribe(CHANNEL, watch)
  return () => void unsubscribe(CHANNEL, watch)
}

/** The same for services in the process of a test. `end` throws if there was an undocumented answer, and names the test. */
export function refuseWrongAnswers(
  services: readonly WatchedService[],
  currentTest: () => string | undefined,
): { end: () => void } {
  const found = new Set<string>()
  const stop = watchAnswers(services, (problem) =>
    found.add(`${problem} (in: ${currentTest() ?? 'no test'})`),
  )
  return {
    end() {
      stop()
      if (found.size > 0) throw new Error(`Answers that no document promises:\n${[...found].join('\n')}`)
    },
  }
}

function pathBelow(basePath: string, url: string): string | undefined {
  if (!url.startsWith(basePath)) return undefined
  const path = url.slice(basePath.length)
  return path === '' || /^[/?]/.test(path) ? path : undefined
}

/** Records the body while the service writes it. */
function recordBody(response: ServerResponse): () => string {
  const chunks: Buffer[] = []
  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === 'string')
      chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'))
    // Not `instanceof`: the classes of a test's realm differ from Node's.
    else if (ArrayBuffer.isView(chunk))
      chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
  }
  for (const name of ['write', 'end'] as const) {
    const original = Reflect.get(response, name) as (...given: unknown[]) => unknown
    Object.assign(response, {
      [name]: (...given: unknown[]) => {
        keep(given[0], given[1])
        return original.apply(response, given)
      },
    })
  }
  return () => Buffer.concat(chunks).toString()
}

/** NDJSON becomes a list. */
function bodyOf(type: string, text: string): unknown {
  if (type.startsWith('application/json')) return JSON.parse(text)
  return type === 'application/x-ndjson' ? jsonLines(text) : undefined
}
