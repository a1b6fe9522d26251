import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket as Connection } from 'node:net'

/**
 * Ports that this process has leased, each with a UDP socket of the same number as proof. Servers here listen on TCP, so holding UDP
 * keeps two of our processes apart without blocking the server, and ends with the process.
 */
const leases = new Map<number, Socket>()

const STEP = 10

/** Errors for ::1 on machines without IPv6, where no other process listens on it either. */
const WITHOUT_IPV6 = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/**
 * Returns a free port of 127.0.0.1, which the system picks and keeps for the life of this process. Use it for a server that must be
 * told its port, for example because its settings contain its own address, even when it restarts, and for tests of ports where nobody
 * listens. The port is bound from the moment it is picked, so no other process can take it before its server listens. A server that can
 * listen on port 0 does not need this.
 */
export async function leasePort(): Promise<number> {
  for (;;) {
    const connection = await connectFromFreePort()
    const { localPort = 0 } = connection
    if (await lease(localPort)) return localPort
    connection.destroy()
  }
}

/**
 * Opens a connection from a free port. While it is open, the system gives the port to nobody who asks for any free port, refuses
 * connections to it, and lets a server listen there only if it names the port and uses SO_REUSEADDR. All our servers do, because they
 * restart while connections of their last run are ending.
 */
async function connectFromFreePort(): Promise<Connection> {
  const server = createServer((end) => end.unref().resume()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' }).unref()
  await Promise.all([once(connection, 'connect'), once(server, 'connection')])
  server.close()
  return connection
}

/** Leases a port or, if it is taken, the next free one. Moves in steps, so that neighbors need not move as well. */
export async function leaseNextPort(wanted: number): Promise<number> {
  for (let port = wanted; port <= 65_535; port += STEP) if (await lease(port)) return port
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
 * Checks every interface: a server bound to 0.0.0.0 or :: would go unnoticed if only 127.0.0.1 were checked, and browsers would reach
 * one bound to ::1 as localhost.
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
