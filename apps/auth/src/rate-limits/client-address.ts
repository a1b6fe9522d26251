import type { Socket } from 'node:net'
import { canonicalAddress, isPrivateAddress, networkOf } from '@signet/rate-limits/network'
import type { Request } from 'express'
import type { Client } from '../requests/request-meta.js'

/** How to find out the caller's address. */
export type ClientAddressRules = {
  /** AUTH_SECURITY_FORWARDED_FOR_ENABLED, _HEADER and _HOPS. */
  forwardedForEnabled: boolean
  forwardedForHeader: string
  forwardedForHops: number
  /** AUTH_RATE_LIMIT_HEADER. */
  rateLimitHeader: string | undefined
}

const MAX_KEY_LENGTH = 128

/** The caller's address, for sessions, audit, CAPTCHA and factors. Forwarded headers count only if enabled. */
export const clientIp = (req: Request, rules: ClientAddressRules): string =>
  forwardedAddress(req, rules) ?? peerOf(req.socket).ip

/**
 * What requests are counted by (decision 0135): the forwarded address, otherwise the header that the operator named, otherwise the address
 * of the socket.
 */
export function clientOf(req: Request, rules: ClientAddressRules): Client {
  const forwarded = forwardedAddress(req, rules)
  if (forwarded !== undefined) return { key: networkOf(forwarded), shared: false }
  const named = rules.rateLimitHeader === undefined ? undefined : firstOf(req.get(rules.rateLimitHeader))
  if (named !== undefined) return { key: keyOf(named), shared: false }
  return peerOf(req.socket).client
}

/** The header may hold anything that tells clients apart. An address, in any notation, counts by its network. */
function keyOf(named: string): string {
  const address = addressIn(named)
  return address === undefined ? named.slice(0, MAX_KEY_LENGTH) : networkOf(address)
}

function forwardedAddress(req: Request, rules: ClientAddressRules): string | undefined {
  if (!rules.forwardedForEnabled) return undefined
  const chain = (req.get(rules.forwardedForHeader) ?? '').split(',')
  // Each proxy appends the address that it saw. Anyone can forge the entries before those of our own proxies.
  const { forwardedForHops: hops } = rules
  const value = hops === 0 ? chain[0] : chain[Math.max(0, chain.length - hops)]
  return addressIn(value?.trim() ?? '')
}

/** An address as proxies write it: alone or with the port of the connection, and IPv6 in brackets (RFC 3986 section 3.2.2). */
const WITH_PORT = /^(?:\[(?<v6>[^\]]*)\](?::\d{1,5})?|(?<v4>[\d.]+):\d{1,5})$/

function addressIn(text: string): string | undefined {
  const { v4, v6 } = WITH_PORT.exec(text)?.groups ?? {}
  return canonicalAddress(v6 ?? v4 ?? text)
}

type Peer = { readonly ip: string; readonly client: Client }

const peers = new WeakMap<Socket, Peer>()

/** Computed once for each connection, because comparing the address with lists of networks is slow. */
function peerOf(socket: Socket): Peer {
  const known = peers.get(socket)
  if (known !== undefined) return known
  // The address is missing if the connection has already closed.
  const ip = canonicalAddress(socket.remoteAddress ?? '') ?? ''
  const peer = { ip, client: { key: networkOf(ip), shared: ip === '' || isPrivateAddress(ip) } }
  peers.set(socket, peer)
  return peer
}

function firstOf(header: string | undefined): string | undefined {
  const first = header?.split(',', 1)[0]?.trim()
  return first === '' ? undefined : first
}
