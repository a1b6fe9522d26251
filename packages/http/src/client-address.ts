import { isIP } from 'node:net'
import type { Request } from 'express'

/**
 * The address of the client behind `hops` of our own proxies, each of which appended the address it saw to `X-Forwarded-For`.
 * With 0 hops, forwarded headers are ignored and the socket's address is used.
 */
export function clientAddress(req: Request, hops: number): string {
  const socket = unmapped(req.socket.remoteAddress ?? '')
  if (hops === 0) return socket
  const chain = [...(req.get('x-forwarded-for') ?? '').split(','), socket].map((part) =>
    unmapped(part.trim()),
  )
  const address = chain[Math.max(0, chain.length - 1 - hops)] ?? ''
  return isIP(address) === 0 ? socket : address
}

const unmapped = (address: string) => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
