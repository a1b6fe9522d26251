import { AddressGuard, BlockedAddressError, guardedAgent, type Resolver } from '@signet/address-guard'
import { parseUrl } from '@signet/address-guard/parse-url'
import type { Agent, Dispatcher } from 'undici'

/** The one HTTP client for calls to providers, gateways, CAPTCHA services and email templates (docs/specification.md#providers). */
export type Outbound = {
  /** Resolves with any HTTP status; rejects with {@link OutboundError} when there is no response. */
  request(request: OutboundRequest): Promise<OutboundResponse>
  close(): Promise<void>
}

export type OutboundRequest = {
  method?: 'GET' | 'POST'
  url: string
  headers?: Readonly<Record<string, string>>
  /** Sent form-encoded when it is a URLSearchParams. */
  body?: string | URLSearchParams
  /** Time limit for the whole exchange; 10 s by default. */
  timeoutMs?: number
  /** Size limit of the response body; 1 MiB by default. */
  maxBytes?: number
}

export type OutboundResponse = {
  status: number
  /** Lower-case names; values of repeated headers joined by commas. */
  headers: Readonly<Record<string, string>>
  text: string
}

/** No response. The message is for the log: it names the host but not the rest of the URL, which may hold secrets. */
export class OutboundError extends Error {
  override name = 'OutboundError'

  constructor(
    readonly reason: 'refused_url' | 'refused_address' | 'timeout' | 'too_large' | 'network',
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
  }
}

export type OutboundOptions = {
  /** AUTH_ALLOW_PRIVATE_PROVIDER_URLS: allows http and private addresses. For tests. */
  allowPrivateUrls: boolean
  /** Name resolution and certificates for tests, whose servers do not exist elsewhere. */
  resolver?: Resolver
  ca?: string
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024

/** Refuses private addresses when it connects, and does not follow redirects. */
export function createOutbound({ allowPrivateUrls, resolver, ca }: OutboundOptions): Outbound {
  const guard = new AddressGuard({ allowPrivateTargets: allowPrivateUrls, resolver })
  // Created with the first call, because many servers never make one.
  let agent: Agent | undefined
  let closed = false
  return {
    async request({
      method = 'GET',
      headers = {},
      body,
      timeoutMs = TIMEOUT_MS,
      maxBytes = MAX_BYTES,
      ...rest
    }) {
      const url = targetOf(rest.url, allowPrivateUrls)
      // One limit for the whole exchange: a server that drips bytes never triggers an idle timeout.
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const { request } = await import('undici')
        if (closed) throw new Error('the connections are closed')
        const response = await request(url, {
          dispatcher: (agent ??= guardedAgent({ guard, ca })),
          method,
          headers: { ...contentTypeOf(body), ...headers },
          body: body?.toString(),
          signal,
        })
        const text = await readText(response, maxBytes)
        return { status: response.statusCode, headers: flatten(response.headers), text }
      } catch (error) {
        throw failure(error, url.host, signal.aborted)
      }
    },
    async close() {
      closed = true
      await agent?.destroy()
    },
  }
}

function targetOf(raw: string, allowHttp: boolean): URL {
  const url = parseUrl(raw)
  if (!url) throw new OutboundError('refused_url', 'the URL is not valid')
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:'))
    throw new OutboundError('refused_url', `${url.host}: only https is allowed`)
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('refused_url', `${url.host}: no credentials are allowed in the URL`)
  return url
}

const contentTypeOf = (body: string | URLSearchParams | undefined): Record<string, string> =>
  body instanceof URLSearchParams ? { 'content-type': 'application/x-www-form-urlencoded' } : {}

async function readText({ body }: Dispatcher.ResponseData, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    // Leaving the loop destroys the stream, so the rest is never received.
    if (size > maxBytes) throw new OutboundError('too_large', `more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ])
  return Object.fromEntries(entries) as Record<string, string>
}

function failure(error: unknown, host: string, timedOut: boolean): OutboundError {
  const options = { cause: error }
  if (error instanceof OutboundError) return new OutboundError(error.reason, `${host}: ${error.message}`)
  if (error instanceof BlockedAddressError)
    return new OutboundError('refused_address', `${host}: the address is not public`, options)
  if (timedOut) return new OutboundError('timeout', `${host}: no complete response in time`, options)
  return new OutboundError('network', `${host}: the exchange failed`, options)
}
