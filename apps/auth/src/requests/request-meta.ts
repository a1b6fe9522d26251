/** What requests and failures are counted by. */
export type Client = {
  /** The network of the address (see `networkOf`), or what AUTH_RATE_LIMIT_HEADER says. */
  readonly key: string
  /** A private address and no header: perhaps a proxy that stands for everybody. */
  readonly shared: boolean
}

/** Who asked, for sessions, the audit log, CAPTCHA and log lines; all that services know about a request. */
export type RequestMeta = {
  readonly requestId: string
  /** Path pattern of the route that took the request. */
  readonly route: string
  readonly ip: string
  /** What requests and failures are counted by. */
  readonly client: Client
  readonly userAgent: string
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}
