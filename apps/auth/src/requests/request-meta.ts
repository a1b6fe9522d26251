/** Who asked, for sessions, the audit log, CAPTCHA and log lines; all that services know about a request. */
export type RequestMeta = {
  readonly requestId: string
  /** Path pattern of the route that took the request. */
  readonly route: string
  readonly ip: string
  readonly userAgent: string
}
