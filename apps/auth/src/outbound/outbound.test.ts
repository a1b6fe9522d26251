import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { afterEach, describe, expect, it } from '@jest/globals'
import { listenLocally } from '@signet/testkit'
import { generate } from 'selfsigned'
import { createOutbound, type Outbound, type OutboundOptions } from './outbound.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function listening(server: Server): Promise<{ port: number; requests: () => number }> {
  let requests = 0
  server.on('request', () => requests++)
  const { port, close } = await listenLocally(server)
  cleanups.push(close)
  return { port, requests: () => requests }
}

const serve = (listener: RequestListener) => listening(createServer(listener))

function anOutbound(options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = createOutbound({ allowPrivateUrls: true, ...options })
  cleanups.push(() => outbound.close())
  return outbound
}

describe('outbound calls (docs/specification.md#providers)', () => {
  it('sends a form and gives back status, headers and body', async () => {
    const seen: unknown[] = []
    const { port } = await serve((req, res) => {
      let body = ''
      req.on('data', (chunk: Buffer) => (body += chunk.toString()))
      req.on('end', () => {
        seen.push([req.method, req.headers['content-type'], req.headers['x-extra'], body])
        res.writeHead(418, { 'X-Kind': ['a', 'b'] }).end('{"ok":1}')
      })
    })
    const answer = await anOutbound().request({
      method: 'POST',
      url: `http://127.0.0.1:${port}/x`,
      headers: { 'x-extra': '1' },
      body: new URLSearchParams({ q: 'ü &' }),
    })
    expect(seen).toEqual([['POST', 'application/x-www-form-urlencoded', '1', 'q=%C3%BC+%26']])
    expect(answer).toMatchObject({ status: 418, text: '{"ok":1}', headers: { 'x-kind': 'a, b' } })
  })

  it('follows no redirect, so a public server cannot lead to a private one', async () => {
    const inside = await serve((_req, res) => res.end('secret'))
    const { port } = await serve((_req, res) =>
      res.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end(),
    )
    await expect(anOutbound().request({ url: `http://127.0.0.1:${port}/` })).resolves.toMatchObject({
      status: 302,
    })
    expect(inside.requests()).toBe(0)
  })

  it.each([
    ['to a private address', (inside: number) => `http://127.0.0.1:${inside}/`],
    ['from https down to http', () => 'http://example.com/'],
    ['to itself without end', () => '/again'],
    ['to the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
  ])(
    'takes a redirect %s as the answer: one request, and credentials go nowhere else',
    async (_case, location) => {
      const inside = await serve((_req, res) => res.end('secret'))
      const outside = await serve((_req, res) =>
        res.writeHead(307, { location: location(inside.port) }).end(),
      )
      const answer = await anOutbound().request({
        method: 'POST',
        url: `http://127.0.0.1:${outside.port}/`,
        headers: { authorization: 'Basic c2VjcmV0' },
        body: new URLSearchParams({ client_secret: 's' }),
      })
      expect(answer).toMatchObject({ status: 307, headers: { location: location(inside.port) } })
      expect([outside.requests(), inside.requests()]).toEqual([1, 0])
    },
  )

  it.each(['http://example.com/', 'ftp://example.com/', 'https://user:pw@example.com/', 'example.com', ''])(
    'refuses %j',
    async (url) => {
      await expect(anOutbound({ allowPrivateUrls: false }).request({ url })).rejects.toMatchObject({
        reason: 'refused_url',
      })
    },
  )

  it('names the host in its errors and nothing else of the URL', async () => {
    const failing = anOutbound({ allowPrivateUrls: false }).request({
      url: 'http://example.com/a?key=s3cret',
    })
    await expect(failing).rejects.toThrow(/^example\.com: only https is allowed$/)
  })

  describe('over TLS', () => {
    async function tlsServer() {
      const pems = await generate([{ name: 'commonName', value: 'provider.example' }], {
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'provider.example' }] }],
      })
      const server = createTlsServer({ key: pems.private, cert: pems.cert }, (_req, res) => res.end('hello'))
      return { ...(await listening(server)), ca: pems.cert }
    }

    it.each([
      'https://127.0.0.1',
      'https://[::1]',
      'https://0x7f.1',
      'https://2130706433',
      'https://169.254.169.254',
    ])('refuses the private address %s before it connects', async (origin) => {
      const { port, requests, ca } = await tlsServer()
      const outbound = anOutbound({ allowPrivateUrls: false, ca })
      await expect(outbound.request({ url: `${origin}:${port}/` })).rejects.toMatchObject({
        reason: 'refused_address',
      })
      expect(requests()).toBe(0)
    })

    it('refuses a name that was public and now resolves to a private address', async () => {
      const { port, requests, ca } = await tlsServer()
      const resolver = () => Promise.resolve([{ address: '127.0.0.1', family: 4 as const }])
      const url = `https://provider.example:${port}/`
      await expect(anOutbound({ ca, resolver }).request({ url })).resolves.toMatchObject({ text: 'hello' })
      await expect(
        anOutbound({ allowPrivateUrls: false, ca, resolver }).request({ url }),
      ).rejects.toMatchObject({
        reason: 'refused_address',
      })
      expect(requests()).toBe(1)
    })

    it('refuses a name with one private address among public ones', async () => {
      const { port, requests, ca } = await tlsServer()
      const resolver = () =>
        Promise.resolve([
          { address: '93.184.215.14', family: 4 as const },
          { address: '127.0.0.1', family: 4 as const },
        ])
      await expect(
        anOutbound({ allowPrivateUrls: false, ca, resolver }).request({
          url: `https://provider.example:${port}/`,
        }),
      ).rejects.toMatchObject({ reason: 'refused_address' })
      expect(requests()).toBe(0)
    })

    it('asks for the address once, so that no second answer can differ from the one that was checked', async () => {
      const { port, ca } = await tlsServer()
      let asked = 0
      const resolver = () => {
        asked++
        return Promise.resolve([{ address: '127.0.0.1', family: 4 as const }])
      }
      await anOutbound({ ca, resolver }).request({ url: `https://provider.example:${port}/` })
      expect(asked).toBe(1)
    })

    it('refuses a certificate without a trusted issuer', async () => {
      const { port } = await tlsServer()
      const resolver = () => Promise.resolve([{ address: '127.0.0.1', family: 4 as const }])
      await expect(
        anOutbound({ resolver }).request({ url: `https://provider.example:${port}/` }),
      ).rejects.toMatchObject({ reason: 'network' })
    })
  })

  it('ends an exchange at its limit even when bytes keep dripping', async () => {
    const { port } = await serve((_req, res) => {
      const timer = setInterval(() => res.write('.'), 10)
      res.on('close', () => clearInterval(timer))
    })
    await expect(
      anOutbound().request({ url: `http://127.0.0.1:${port}/`, timeoutMs: 150 }),
    ).rejects.toMatchObject({ reason: 'timeout' })
  })

  it('ends an exchange with a server that never answers', async () => {
    const { port } = await serve(() => undefined)
    await expect(
      anOutbound().request({ url: `http://127.0.0.1:${port}/`, timeoutMs: 100 }),
    ).rejects.toMatchObject({ reason: 'timeout' })
  })

  it('takes a body up to the limit and not a byte more', async () => {
    const { port } = await serve((req, res) => res.end('x'.repeat(Number(req.url?.slice(1)))))
    const get = (bytes: number) =>
      anOutbound().request({ url: `http://127.0.0.1:${port}/${bytes}`, maxBytes: 1000 })
    await expect(get(1000)).resolves.toMatchObject({ status: 200 })
    await expect(get(1001)).rejects.toMatchObject({ reason: 'too_large' })
  })

  it('leaves a body without end at the limit, and closes the connection', async () => {
    let closed: Promise<unknown> | undefined
    const { port } = await serve((_req, res) => {
      closed = once(res, 'close')
      const more = () => {
        while (res.write('x'.repeat(16_384)));
      }
      res.on('drain', more)
      more()
    })
    await expect(anOutbound().request({ url: `http://127.0.0.1:${port}/` })).rejects.toMatchObject({
      reason: 'too_large',
    })
    await closed
  })

  it('reports a refused connection and one that breaks half-way', async () => {
    const { port } = await serve((_req, res) => {
      res.writeHead(200, { 'content-length': '100' }).write('half')
      res.socket?.end()
    })
    await expect(anOutbound().request({ url: `http://127.0.0.1:${port}/` })).rejects.toMatchObject({
      reason: 'network',
    })
    await expect(anOutbound().request({ url: 'http://127.0.0.1:1/' })).rejects.toMatchObject({
      reason: 'network',
    })
  })
})
