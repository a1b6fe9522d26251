/** How the caller's address is known (contract 12.1). */
export type ClientAddressConfig = {
  /** AUTH_SECURITY_FORWARDED_FOR_ENABLED and _HEADER. */
  forwardedForEnabled: boolean
  forwardedForHeader: string
  /** AUTH_RATE_LIMIT_HEADER. */
  rateLimitHeader: string | undefined
}
