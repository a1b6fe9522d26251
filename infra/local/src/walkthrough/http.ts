import type { StackAddresses } from '../stack/environment.js'
import { bold, cyan, dim, say } from '../terminal.js'

/** The addresses of the walk-through. It uses the services only over HTTP. */
export type World = Pick<StackAddresses, 'auth' | 'webhooks' | 'internal' | 'inbox'> & {
  internalToken: string
}

interface Call {
  bearer?: string
  json?: unknown
  /** Prints nothing, because polling is not worth a line each time. */
  quiet?: boolean
  /** Any other status ends the walk-through. */
  status?: number
}

const TIMEOUT_MS = 60_000
const SHOWN_PATH = 60

/** A fetch that does not follow redirects, prints one line for each request to the product, and says why there is no answer. */
export const fetchIn =
  (world: World, { quiet = false } = {}): typeof fetch =>
  async (input, init = {}) => {
    const { origin, pathname } = new URL(input instanceof Request ? input.url : input)
    const { method = 'GET' } = init
    const startedAt = performance.now()
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(input, { redirect: 'manual', signal, ...init }).catch((error: unknown) => {
      // `fetch failed` alone helps nobody; the cause contains the reason.
      const { cause, message } = error as { cause?: { code?: string }; message: string }
      throw new Error(`no answer to ${method} ${origin}: ${cause?.code ?? message}`, { cause: error })
    })
    if (!quiet && origin !== world.inbox) {
      const took = dim(`${(performance.now() - startedAt).toFixed(0)} ms`)
      const result = `${dim('→')} ${bold(String(response.status))} ${took}`
      tell(`${cyan(method.padEnd(6))} ${nameOf(origin, world)} ${shorten(pathname, SHOWN_PATH)} ${result}`)
    }
    return response
  }

const nameOf = (origin: string, { auth, webhooks, internal }: World): string =>
  ({ [auth]: 'auth', [webhooks]: 'webhooks', [internal]: 'webhooks (internal)' })[origin] ?? 'your app'

export async function send(
  world: World,
  method: string,
  url: string,
  { bearer, json, quiet, status }: Call = {},
): Promise<Response> {
  const response = await fetchIn(world, { quiet })(url, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    body: JSON.stringify(json),
  })
  if (status === undefined || response.status === status) return response
  const said = shorten(await response.text(), 400)
  throw new Error(`expected status ${status}, got ${response.status}: ${said}`)
}

/** Returns the JSON of an answer with the expected status, which is 200 by default. */
export const call = async <T>(world: World, method: string, url: string, options?: Call): Promise<T> =>
  (await send(world, method, url, { status: 200, ...options })).json() as Promise<T>

export const shorten = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text

export function check(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new Error(`expected that ${claim}`)
}

export const tell = (text: string): void => say(`     ${text}`)
