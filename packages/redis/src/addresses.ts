import { isIPv6 } from 'node:net'

/** Parses `host:port`, with an IPv6 address in brackets. The error says what is wrong without repeating the value. */
export function parseRedisNode(node: string): { host: string; port: number } {
  const [, v6, name, digits] = /^(?:\[([^\]]*)\]|([\w.-]+)):(\d{1,5})$/.exec(node.trim()) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  const isAddress = v6 === undefined || isIPv6(v6)
  if (host === undefined || !isAddress || port < 1 || port > 65_535)
    throw new RangeError('must be host:port, with an IPv6 address in brackets')
  return { host, port }
}

/** Parses a Redis URL. The error says what is wrong without repeating the value, which contains a password. */
export function parseRedisUrl(raw: string) {
  // oxlint-disable-next-line no-restricted-properties -- of settings, and this package imports no other
  const url = /^rediss?:\/\//i.test(raw) && URL.canParse(raw) ? new URL(raw) : undefined
  if (url === undefined) throw new RangeError('must be a redis:// or rediss:// URL')
  const [, db] = /^\/?(\d{0,9})$/.exec(url.pathname) ?? []
  if (db === undefined) throw new RangeError('must end with the number of a database, or without a path')
  return {
    hostname: url.hostname,
    port: Number(url.port || 6379),
    username: decoded(url.username),
    password: decoded(url.password),
    db: Number(db),
    tls: url.protocol === 'rediss:' ? {} : undefined,
  }
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part) || undefined
  } catch {
    throw new RangeError('must have a percent-encoded user and password')
  }
}
