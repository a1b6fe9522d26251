import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket as Connection } from 'node:net'

/**
 * Ports that this process has leased, each with the UDP socket of the same number that proves it. Servers here listen on
 * TCP, so holding UDP keeps two of our processes apart without being in the server's way, and ends with the process.
 */
const leases = new Map<number, Socket>()

const STEP = 10

/** Errors of machines without IPv6 for ::1: no other process listens there either. */
const WITHOUT_IPV6 = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/**
 * A free port of 127.0.0.1, picked and kept by the system for the life of this process: for a server that must be told its port, such as
 * one whose settings name its own address, also when it starts again, and for tests of ports where nobody listens. It is bound from when
 * it is picked, so no other process can take it before its server listens. A server that can listen on port 0 does not need it.
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
 * While it is open, the system gives its port to nobody who wants any, connections to it are refused, and only a server that names the
 * port can listen there, with SO_REUSEADDR. All of ours have that: they start again while connections of their last run end.
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

/** Leases a port, or where it is taken the first free one of the next. In steps, so that neighbors need not move as well. */
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
