import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { leaseNextPort, leasePort } from './ports.js'

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
const onLinux = process.platform === 'linux' ? it : it.skip
const PORTS = new URL('../dist/ports.js', import.meta.url).href

/** The port that another process gets when it asks for this one or the next free one. */
async function leaseElsewhere(wanted: number): Promise<number> {
  const script = `import { leaseNextPort } from '${PORTS}'; console.log(await leaseNextPort(${wanted}))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return Number(stdout)
}

describe('leaseNextPort', () => {
  it.each(['127.0.0.1', '0.0.0.0', ...(hasIpv6 ? ['::1'] : [])])(
    'passes over a port that somebody holds on %s',
    async (host) => {
      const other = createServer().listen(0, host)
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      try {
        expect(await leaseNextPort(port)).toBeGreaterThan(port)
      } finally {
        other.close()
      }
    },
  )

  it('gives a port to one process only, before anything listens there', async () => {
    const port = await leasePort()
    expect(await leaseNextPort(port)).toBeGreaterThan(port)
    expect(await leaseElsewhere(port)).toBeGreaterThan(port)
  })

  onLinux('has the system keep the port, by a socket on which nobody listens', async () => {
    const port = await leasePort()
    // The system's list of all TCP sockets, with hexadecimal addresses.
    const sockets = readFileSync('/proc/net/tcp', 'utf8').matchAll(/^ *\d+: \w+:(\w+)/gm)
    const bound = new Set([...sockets].map(([, hex = '']) => parseInt(hex, 16)))
    expect(bound.has(port)).toBe(true)
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('leaves the port itself free for the server that is to have it', async () => {
    const server = createServer().listen(await leasePort(), '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })

  it('does not take the place of a neighbor for one that is taken', async () => {
    const port = await leasePort()
    expect((await leaseNextPort(port)) - port).toBeGreaterThanOrEqual(10)
  })
})
