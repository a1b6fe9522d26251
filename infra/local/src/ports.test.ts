import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { freePort, nextFreePort } from './ports.js'

describe('nextFreePort', () => {
  it.each(['127.0.0.1', '0.0.0.0'])('passes over a port that somebody holds on %s', async (host) => {
    const other = createServer().listen(0, host)
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    try {
      expect(await nextFreePort(port)).toBeGreaterThan(port)
    } finally {
      other.close()
    }
  })

  it('passes over ports already promised', async () => {
    const port = await freePort()
    expect(await nextFreePort(port)).toBe(port)
    expect(await nextFreePort(port, new Set([port]))).toBeGreaterThan(port)
  })
})
