/** Who asked, for sessions, the audit log and CAPTCHA; all that services know about a request. */
export type RequestMeta = {
  readonly ip: string
  readonly userAgent: string
}
