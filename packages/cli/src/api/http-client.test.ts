import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import { listenLocally, type LocalServer } from '@signet/testkit'
import { HttpClient } from './http-client.js'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let server: LocalServer
let requests: number
afterEach(() => server.close())

async function serve(answer: Answer): Promise<URL> {
  requests = 0
  server = await listenLocally(
    createServer((request, response) => {
      requests += 1
      answer(request, response)
    }),
  )
  return new URL(server.origin)
}

/** As if the first request arrived on a connection that had just been idle for too long. */
const closingFirst: Answer = ({ socket }, response) =>
  void (requests === 1 ? socket.destroy() : response.end('{}'))

describe('a connection that the server closes', () => {
  it('is replaced for a GET', async () => {
    const url = await serve(closingFirst)
    expect(await new HttpClient().send({ method: 'GET', url })).toMatchObject({ status: 200, body: {} })
    expect(requests).toBe(2)
  })

  it.each(['POST', 'PATCH', 'DELETE'] as const)(
    'is reported for a %s, which may have arrived',
    async (method) => {
      const url = await serve(closingFirst)
      await expect(new HttpClient().send({ method, url })).rejects.toThrow('closed the connection')
      expect(requests).toBe(1)
    },
  )

  it('is reported for a GET the second time', async () => {
    const url = await serve(({ socket }) => void socket.destroy())
    await expect(new HttpClient().send({ method: 'GET', url })).rejects.toThrow('closed the connection')
    expect(requests).toBe(2)
  })
})
