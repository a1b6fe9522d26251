import type { Language } from '@signet/language'
import type { RequestMeta as Base } from '@signet/telemetry'

/** What requests and failures are counted by. */
export type Client = {
  /** The network of the address (see `networkOf`), or what AUTH_RATE_LIMIT_HEADER says. */
  readonly key: string
  /** Whether the address is private and no header names another one. It may be a proxy in front of all clients. */
  readonly shared: boolean
}

/** Everything that services know about a request: the caller, for sessions, the audit log, CAPTCHA and log lines. */
export type RequestMeta = Base & {
  /** Path pattern of the matched route. */
  readonly route: string
  readonly ip: string
  /** What requests and failures are counted by. */
  readonly client: Client
  readonly userAgent: string
  /** The language of the person; unknown for requests that an earlier version stored. */
  readonly language?: Language
  /** Aborted when the client no longer waits for the answer. */
  readonly signal?: AbortSignal
}
