import { isIP } from 'node:net'
import { type Request } from 'express'

/** How the caller's address is known (contract 12.1). */
export type ClientAddressConfig = {
  /** AUTH_SECURITY_FORWARDED_FOR_ENABLED and _HEADER. */
  forwardedForEnabled: boolean
  forwardedForHeader: string
  /** AUTH_RATE_LIMIT_HEADER. */
  rateLimitHeader: string | undefined
}

const MAX_KEY_LENGTH = 128

/** Who is asking, for sessions, audit, CAPTCHA and factors. Forwarded headers count only where they are switched on. */
export const clientIp = (req: Request, config: ClientAddressConfig): string =>
  forwardedAddress(req, config) ?? unmapped(req.socket.remoteAddress ?? '')

/** What requests are counted by; undefined where nothing is configured that tells clients apart. */
export function clientKey(req: Request, config: ClientAddressConfig): string | undefined {
  const named = config.rateLimitHeader === undefined ? undefined : firstOf(req.get(config.rateLimitHeader))
  return forwardedAddress(req, config) ?? named?.slice(0, MAX_KEY_LENGTH)
}

function forwardedAddress(req: Request, config: ClientAddressConfig): string | undefined {
  if (!config.forwardedForEnabled) return undefined
  const first = unmapped(firstOf(req.get(config.forwardedForHeader)) ?? '')
  return isIP(first) === 0 ? undefined : first
}

function firstOf(header: string | undefined): string | undefined {
  const first = header?.split(',', 1)[0]?.trim()
  return first === '' ? undefined : first
}

/** An IPv4 client of a dual-stack socket shows up as `::ffff:192.0.2.1`. */
const unmapped = (address: string) => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
