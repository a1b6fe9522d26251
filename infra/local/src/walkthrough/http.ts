import { bold, cyan, dim, say } from '../terminal.js'

export interface Exchange {
  status: number
  headers: Headers
  text: string
  durationMs: number
}

interface RequestOptions {
  /** The service that is called, as shown to the reader. */
  at: string
  bearer?: string
  json?: unknown
  form?: Record<string, string>
  headers?: Record<string, string>
  /** Polling is not worth a line each time. */
  quiet?: boolean
}

const TIMEOUT_MS = 60_000

/** One request, no redirects followed, printed as one line. */
export async function send(method: string, url: string, options: RequestOptions): Promise<Exchange> {
  const { json, form, bearer } = options
  const startedAt = performance.now()
  const response = await ask(url, {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    body: json !== undefined ? JSON.stringify(json) : form && new URLSearchParams(form),
  })
  const text = await response.text()
  const exchange = {
    status: response.status,
    headers: response.headers,
    text,
    durationMs: performance.now() - startedAt,
  }
  if (!options.quiet) print(method, url, options.at, exchange)
  return exchange
}

/** `fetch failed` alone helps nobody: the reason is in the cause. */
async function ask(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    const { cause, message } = error as { cause?: { code?: string }; message: string }
    const reason = cause?.code ?? message
    throw new Error(`no answer to ${init.method} ${new URL(url).origin}: ${reason}`, { cause: error })
  }
}

/** The body of an answer with the expected status; anything else ends the walk-through with what came instead. */
export function expectJson<T>(exchange: Exchange, status: number): T {
  expectStatus(exchange, status)
  return JSON.parse(exchange.text) as T
}

export function expectStatus({ status, text }: Exchange, wanted: number): void {
  if (status !== wanted) throw new Error(`expected status ${wanted}, got ${status}: ${text.slice(0, 400)}`)
}

/** Where a redirect leads; RFC 9110 allows a relative reference. */
export function locationOf({ headers, status }: Exchange, base: string): URL {
  const location = headers.get('location')
  if (!location) throw new Error(`expected a redirect, got status ${status} without Location`)
  return new URL(location, base)
}

export function check(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new Error(`expected that ${claim}`)
}

export function tell(text: string): void {
  say(`     ${text}`)
}

function print(method: string, url: string, at: string, { status, durationMs }: Exchange): void {
  const { pathname } = new URL(url)
  const shown = pathname.length > 60 ? `${pathname.slice(0, 57)}…` : pathname
  say(
    `     ${cyan(method.padEnd(6))} ${at} ${shown} ${dim('→')} ${bold(String(status))} ${dim(`${durationMs.toFixed(0)} ms`)}`,
  )
}
