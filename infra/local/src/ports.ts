import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Ports that this process has leased, each with the UDP socket of the same number that proves it. Servers here listen on
 * TCP, so holding UDP keeps two of our processes apart without being in the server's way, and ends with the process.
 */
const leases = new Map<number, Socket>()

/** Errors of machines without IPv6 for ::1: no other process listens there either. */
const WITHOUT_IPV6 = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/** Leases a free port of 127.0.0.1 for the life of this process, for a server that must be told its port. */
export const leasePort = (): Promise<number> =>
  // Below the ranges that Linux and macOS give to outgoing connections and to `listen(0)`: nobody gets one by chance.
  leaseNextPort(randomInt(15_000, 32_000))

/** Leases the first free port from `wanted` upwards, passing over those in `avoid`. */
export async function leaseNextPort(wanted: number, avoid: ReadonlySet<number> = new Set()): Promise<number> {
  for (let port = wanted; port <= 65_535; port += 1) {
    if (!avoid.has(port) && (await lease(port))) return port
  }
  throw new Error(`no free port at or above ${wanted}`)
}

async function lease(port: number): Promise<boolean> {
  if (leases.has(port)) return false
  const claim = createSocket('udp4').unref()
  claim.bind({ port, address: '127.0.0.1', exclusive: true })
  const isOurs = await once(claim, 'listening').then(
    () => isFree(port),
    () => false,
  )
  if (isOurs) leases.set(port, claim)
  else claim.close()
  return isOurs
}

/**
 * Free on every interface: a server bound to 0.0.0.0 or :: would otherwise go unnoticed by a look at 127.0.0.1, and one
 * bound to ::1 would be what browsers reach as localhost.
 */
async function isFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', '::1', undefined]) {
    const server = createServer().unref().listen({ port, host, exclusive: true })
    try {
      await once(server, 'listening')
    } catch (error) {
      if (!WITHOUT_IPV6.has((error as NodeJS.ErrnoException).code ?? '')) return false
      continue
    }
    server.close()
    await once(server, 'close')
  }
  return true
}
