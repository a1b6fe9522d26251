import type { Language } from '@signet/language'
import type { RequestMeta as Base } from '@signet/telemetry'

/** What requests and failures are counted by. */
export type Client = {
  /** The network of the address (see `networkOf`), or what AUTH_RATE_LIMIT_HEADER says. */
  readonly key: string
  /** A private address without a header: perhaps a proxy in front of all clients. */
  readonly shared: boolean
}

/** The caller, for sessions, the audit log, CAPTCHA and log lines; all that services know about a request. */
export type RequestMeta = Base & {
  /** Path pattern of the matched route. */
  readonly route: string
  readonly ip: string
  /** What requests and failures are counted by. */
  readonly client: Client
  readonly userAgent: string
  /** What the person reads; unknown for requests that were kept from an earlier version. */
  readonly language?: Language
  /** Aborted when the client no longer waits for the answer. */
  readonly signal?: AbortSignal
}
