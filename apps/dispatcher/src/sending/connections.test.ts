import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { createConnections } from './connections.js'
import { post } from './http-sender.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const response = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** Greets the account whose request came first on a connection, as a front end does that mixes up responses. */
async function startReceiver() {
  const sockets: Socket[] = []
  const accounts: string[] = []
  const server = createServer((socket) => {
    const connection = sockets.push(socket) - 1
    socket.setNoDelay(true).on('error', () => undefined)
    socket.on('data', (request: Buffer) => {
      const [, account = ''] = /x-account: (\w+)/.exec(request.toString()) ?? []
      accounts[connection] ??= account
      socket.write(response(`hello ${accounts[connection]}`))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(
    () => server.close(),
    () => sockets.forEach((socket) => socket.destroy()),
  )
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  return { url, sockets, accounts }
}

function sender(url: URL, maxKept?: number) {
  const config = { proxyUrl: undefined, allowPrivateTargets: true, timeoutMs: 60_000 }
  const connections = createConnections(config, { onProxyFailed: () => undefined }, maxKept)
  cleanups.push(() => connections.destroy())
  return async (account: string) => {
    const request = { url, headers: { 'x-account': account }, body: Buffer.from('{}') }
    const exchange = post(connections.of(account), request, config.timeoutMs)
    await exchange.answered
    await exchange.closed
    return exchange.excerpt()
  }
}

describe('connections to receivers', () => {
  it('are used again by their own account, and never by another one that sends to the same receiver', async () => {
    const { url, accounts } = await startReceiver()
    const send = sender(url)
    expect(await send('ada')).toBe('hello ada')
    expect(await send('bob')).toBe('hello bob')
    expect(await send('ada')).toBe('hello ada')
    expect(await send('bob')).toBe('hello bob')
    expect(accounts).toEqual(['ada', 'bob'])
  })

  it('are not kept while many others are, and again once those are closed', async () => {
    const { url, sockets, accounts } = await startReceiver()
    const send = sender(url, 1)
    const usesItAgain = async (account: string) => {
      const before = accounts.length
      await send(account)
      return accounts.length === before
    }
    await send('ada')
    await send('bob')
    await once(sockets[1] as Socket, 'close')
    expect(await usesItAgain('bob')).toBe(false)
    expect(await usesItAgain('ada')).toBe(true)
    sockets[0]?.destroy()
    await waitFor(() => usesItAgain('bob'))
  })
})
