import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import ipaddr from 'ipaddr.js'
import { AddressGuard } from './address-guard.js'
import { dnsResolver, systemResolver, type Resolver } from './resolver.js'

const A = 1
const AAAA = 28
const SERVFAIL = 2
const NXDOMAIN = 3
/** No answer at all. */
const SILENCE = -1

/** The records of the name server. A number is a DNS error code, and a name that is missing here does not exist. */
const ZONE: Record<string, { [A]: string[] | number; [AAAA]: string[] | number }> = {
  'both.example.com': { [A]: ['1.1.1.1', '1.0.0.1'], [AAAA]: ['2606:4700::1111'] },
  'old-server.example.com': { [A]: ['1.1.1.1'], [AAAA]: SERVFAIL },
  'silent-server.example.com': { [A]: ['1.1.1.1'], [AAAA]: SILENCE },
  'only-six.example.com': { [A]: [], [AAAA]: ['2606:4700::1111'] },
  'six-and-broken.example.com': { [A]: SERVFAIL, [AAAA]: ['2606:4700::1111'] },
  'broken.example.com': { [A]: SERVFAIL, [AAAA]: SERVFAIL },
  'mapped.example.com': { [A]: [], [AAAA]: ['::ffff:10.0.0.1'] },
}

/** Serves `ZONE` over UDP, and records the names that were asked for. */
async function startNameServer() {
  const asked: string[] = []
  const socket: Socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12)
    const type = query.readUInt16BE(end + 1) as typeof A | typeof AAAA
    const name = labels(query.subarray(12, end)).join('.').toLowerCase()
    asked.push(name)
    const found = ZONE[name]?.[type] ?? NXDOMAIN
    if (found === SILENCE) return
    const addresses = typeof found === 'number' ? [] : found
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180 | (typeof found === 'number' ? found : 0), 2)
    head.writeUInt16BE(addresses.length, 6)
    head.fill(0, 8) // no authority and no additional records
    const question = query.subarray(12, end + 5)
    socket.send(Buffer.concat([head, question, ...addresses.map(record)]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { asked, address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() }
}

function labels(bytes: Buffer): string[] {
  const [length = 0] = bytes
  if (length === 0) return []
  return [bytes.toString('latin1', 1, 1 + length), ...labels(bytes.subarray(1 + length))]
}

/** One answer record: a pointer to the question's name, the type, class IN, a TTL of 0, the address. */
function record(address: string): Buffer {
  const bytes = ipaddr.parse(address).toByteArray()
  return Buffer.from([0xc0, 0x0c, 0, isIPv6(address) ? AAAA : A, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes])
}

describe('dnsResolver', () => {
  let server: Awaited<ReturnType<typeof startNameServer>>
  let resolve: Resolver
  beforeAll(async () => {
    server = await startNameServer()
    resolve = dnsResolver({ servers: [server.address] })
  })
  afterAll(() => void server.close())

  it.each([
    ['both families', 'both.example.com', ['1.0.0.1', '1.1.1.1', '2606:4700::1111']],
    ['what a server gives that fails on AAAA', 'old-server.example.com', ['1.1.1.1']],
    ['a name with IPv6 alone', 'only-six.example.com', ['2606:4700::1111']],
    ['what a server gives that fails on A', 'six-and-broken.example.com', ['2606:4700::1111']],
    ['a mapped address as it came, for the guard to check', 'mapped.example.com', ['::ffff:10.0.0.1']],
  ])('finds %s', async (_name, host, addresses) => {
    const found = await resolve(host)
    expect(found.map(({ address }) => address).sort()).toEqual(addresses)
    expect(found.every(({ address, family }) => family === (address.includes(':') ? 6 : 4))).toBe(true)
  })

  it('finds what servers give that do not answer for AAAA, in the time that the guard has', async () => {
    const other = await startNameServer()
    try {
      const guard = new AddressGuard({ resolver: dnsResolver({ servers: [server.address, other.address] }) })
      const addresses = await guard.addressesOf('silent-server.example.com')
      expect(addresses).toEqual([{ address: '1.1.1.1', family: 4 }])
    } finally {
      other.close()
    }
  })

  it.each(['broken.example.com', 'missing.example.com'])('rejects for %s', async (host) => {
    await expect(resolve(host)).rejects.toThrow(/queryA/)
  })

  it('asks the DNS for every name as it is: no hosts file, no search domains', async () => {
    await expect(resolve('localhost')).rejects.toThrow(/ENOTFOUND/)
    await expect(resolve('redis.signet')).rejects.toThrow(/ENOTFOUND/)
    expect(server.asked).toContain('localhost')
    expect([...new Set(server.asked)].filter((name) => name.startsWith('redis'))).toEqual(['redis.signet'])
  })
})

describe('systemResolver', () => {
  it('reads the hosts file, where development names its receivers', async () => {
    const found = await systemResolver()('localhost')
    expect(found.map(({ address }) => address)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)]),
    )
  })
})
