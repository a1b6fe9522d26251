import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port of 127.0.0.1 that was free a moment ago. Somebody else may still take it first: be ready to try again. */
export async function freePort(): Promise<number> {
  const port = await tryListen(0)
  if (port === null) throw new Error('no free port on 127.0.0.1')
  return port
}

/** The first free port from `wanted` upwards, leaving out those already promised to somebody in `taken`. */
export async function nextFreePort(wanted: number, taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (let port = wanted; port <= 65_535; port += 1) {
    if (!taken.has(port) && (await isFree(port))) return port
  }
  throw new Error(`no free port at or above ${wanted}`)
}

/** Free on every interface: a server bound to 0.0.0.0 or :: would otherwise go unnoticed by a look at 127.0.0.1. */
async function isFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', undefined]) {
    if ((await tryListen(port, host)) === null) return false
  }
  return true
}

async function tryListen(port: number, host: string | undefined = '127.0.0.1'): Promise<number | null> {
  const server = createServer()
  server.unref()
  try {
    server.listen({ port, host, exclusive: true })
    await once(server, 'listening')
  } catch {
    return null
  }
  const bound = (server.address() as AddressInfo).port
  server.close()
  await once(server, 'close')
  return bound
}
