import { bold, cyan, dim, say } from '../terminal.js'
import type { World } from './world.js'

interface Call {
  bearer?: string
  json?: unknown
  /** Polling is not worth a line each time. */
  quiet?: boolean
}

const TIMEOUT_MS = 60_000
const SHOWN_PATH = 60

/** A fetch that follows no redirect, prints one line for each request, and says why there is no answer. */
export const fetchIn =
  (world: World, { quiet = false } = {}): typeof fetch =>
  async (input, init = {}) => {
    const { origin, pathname } = new URL(input instanceof Request ? input.url : input)
    const { method = 'GET' } = init
    const startedAt = performance.now()
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(input, { redirect: 'manual', signal, ...init }).catch((error: unknown) => {
      // `fetch failed` alone helps nobody: the reason is in the cause.
      const { cause, message } = error as { cause?: { code?: string }; message: string }
      throw new Error(`no answer to ${method} ${origin}: ${cause?.code ?? message}`, { cause: error })
    })
    if (!quiet) {
      const path = pathname.length > SHOWN_PATH ? `${pathname.slice(0, SHOWN_PATH - 3)}…` : pathname
      const took = dim(`${(performance.now() - startedAt).toFixed(0)} ms`)
      const status = bold(String(response.status))
      say(`     ${cyan(method.padEnd(6))} ${nameOf(origin, world)} ${path} ${dim('→')} ${status} ${took}`)
    }
    return response
  }

function nameOf(origin: string, world: World): string {
  const names = {
    [world.authUrl]: 'auth',
    [world.webhooksUrl]: 'webhooks',
    [world.internalUrl]: 'webhooks (internal)',
    [world.sandboxUrl]: 'inbox',
  }
  return names[origin] ?? 'your app'
}

export function send(
  world: World,
  method: string,
  url: string,
  { bearer, json, quiet }: Call = {},
): Promise<Response> {
  return fetchIn(world, { quiet })(url, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    body: JSON.stringify(json),
  })
}

/** The JSON of an answer with the expected status, 200 unless given; anything else ends the walk-through. */
export async function call<T>(
  world: World,
  method: string,
  url: string,
  { status = 200, ...options }: Call & { status?: number } = {},
): Promise<T> {
  const response = await send(world, method, url, options)
  return JSON.parse(await expectStatus(response, status)) as T
}

/** Returns the body. */
export async function expectStatus(response: Response, wanted: number): Promise<string> {
  const text = await response.text()
  const { status } = response
  if (status !== wanted) throw new Error(`expected status ${wanted}, got ${status}: ${text.slice(0, 400)}`)
  return text
}

export function check(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new Error(`expected that ${claim}`)
}

export function tell(text: string): void {
  say(`     ${text}`)
}
