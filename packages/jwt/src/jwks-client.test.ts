import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ecKey, edKey, forge, rejectionOf, rsaKey, SECRET, type TestKey } from '../test/keys.js'
import { ringOf } from '../test/rings.js'
import { JwksClient, type JwksClientOptions, JwksUnavailableError, signJwt, verifyJwt } from './index.js'

const MINUTE = 60_000
const ec = ecKey('ec')
const next = ecKey('next')
const third = edKey('third')
const tokenOf = (key: TestKey) => signJwt(ringOf(key), { sub: key.kid })

let requests = 0
let answer: RequestListener
const publish =
  (...keys: unknown[]): RequestListener =>
  (_, response) =>
    void response.end(JSON.stringify({ keys }))
const server = createServer((request, response) => {
  // A request that an earlier test gave up on may still arrive.
  if (request.url !== path) return void response.writeHead(404).end()
  requests += 1
  answer(request, response)
})
let path = '/0'
let url: string
let time: number
const clientWith = (options: Partial<JwksClientOptions> = {}) =>
  new JwksClient({ url, monotonicMs: () => time, timeoutMs: MINUTE, ...options })

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  path = `/${Number(path.slice(1)) + 1}`
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  requests = 0
  time = 0
  answer = publish(ec.publicJwk)
})

describe('the copy of the keys', () => {
  it('is fetched with the first token, once for all that arrive together', async () => {
    const client = clientWith()
    expect(requests).toBe(0)
    const results = await Promise.all(
      Array.from({ length: 20 }, async () => verifyJwt(client, await tokenOf(ec))),
    )
    expect(results).toEqual(Array.from({ length: 20 }, () => ({ sub: 'ec' })))
    expect(requests).toBe(1)
  })

  it('is used until its age is reached, then fetched again', async () => {
    const client = clientWith()
    await verifyJwt(client, await tokenOf(ec))
    time += 10 * MINUTE - 1
    await verifyJwt(client, await tokenOf(ec))
    expect(requests).toBe(1)
    time += 1
    await verifyJwt(client, await tokenOf(ec))
    expect(requests).toBe(2)
  })

  it('is replaced as a whole, so that a dropped key ends', async () => {
    const client = clientWith()
    await verifyJwt(client, await tokenOf(ec))
    answer = publish(next.publicJwk)
    time += 10 * MINUTE
    expect(await rejectionOf(verifyJwt(client, await tokenOf(ec)))).toMatchObject({ reason: 'unknown_key' })
    await expect(verifyJwt(client, await tokenOf(next))).resolves.toEqual({ sub: 'next' })
  })

  it.each<[string, RequestListener]>([
    ['an error status', (_, response) => void response.writeHead(500).end('{"keys":[]}')],
    ['a redirect', (_, response) => void response.writeHead(302, { location: '/other' }).end()],
    ['no JSON', (_, response) => void response.end('<html>')],
    ['a key that is no object', (_, response) => void response.end('{"keys":[null]}')],
    ['no key set', (_, response) => void response.end('{"keys":"none"}')],
    ['a broken connection', (request) => void request.socket.destroy()],
    ['too many bytes', (_, response) => void response.end(`{"keys":[],"x":"${'x'.repeat(200_000)}"}`)],
  ])('stays in use when the issuer answers with %s, and the failure is told', async (_, failure) => {
    const failures: unknown[] = []
    const client = clientWith({ onRefreshFailed: (error) => failures.push(error) })
    await verifyJwt(client, await tokenOf(ec))
    answer = failure
    time += 60 * MINUTE
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
    expect(failures).toEqual([expect.objectContaining({ message: expect.any(String) })])
    expect(requests).toBe(2)
    answer = publish(next.publicJwk)
    time += MINUTE
    await expect(verifyJwt(client, await tokenOf(next))).resolves.toEqual({ sub: 'next' })
  })

  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    ['never ends its body', (_, response) => void response.write('{"keys":[')],
  ])('stays in use when the issuer %s', async (_, silence) => {
    const client = clientWith({ timeoutMs: 100 })
    const token = await tokenOf(ec)
    // On a busy machine the first answer may take longer than the time limit.
    const isVerified = () =>
      verifyJwt(client, token).then(
        () => true,
        () => false,
      )
    while (!(await isVerified())) time += 1_000
    answer = silence
    time += 60 * MINUTE
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  })

  it('that was never fetched is an error of its own, and is requested again after a second', async () => {
    answer = (_, response) => void response.writeHead(503).end()
    const client = clientWith()
    const error = await rejectionOf(verifyJwt(client, await tokenOf(ec)))
    expect(error).toBeInstanceOf(JwksUnavailableError)
    expect(error).toMatchObject({ cause: { message: 'The JWK Set URL answered with status 503' } })
    expect(await rejectionOf(verifyJwt(client, await tokenOf(ec)))).toBeInstanceOf(JwksUnavailableError)
    expect(requests).toBe(1)
    answer = publish(ec.publicJwk)
    time += 1_000
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  })
})

describe('a failure', () => {
  const failureOf = async (failure: RequestListener) => {
    const failures: unknown[] = []
    answer = failure
    const client = clientWith({ onRefreshFailed: (error) => failures.push(error) })
    const error = await rejectionOf(verifyJwt(client, await tokenOf(ec)))
    return { error, failures, client }
  }

  it('is told with what was wrong, and is the cause of the answer', async () => {
    const { error, failures } = await failureOf((_, response) => void response.writeHead(404).end())
    expect(error).toMatchObject({
      name: 'JwksUnavailableError',
      message: 'The signing keys of the token issuer could not be fetched',
      cause: failures[0],
    })
    expect(failures).toMatchObject([{ message: 'The JWK Set URL answered with status 404' }])
  })

  it('is a key set of one byte more than 128 KiB', async () => {
    const keys = JSON.stringify([ec.publicJwk])
    const sized = (bytes: number): RequestListener => {
      const empty = `{"keys":${keys},"x":""}`
      return (_, response) => void response.end(empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`))
    }
    const { failures } = await failureOf(sized(128 * 1024 + 1))
    expect(failures).toMatchObject([{ message: 'The JWK Set is larger than 131072 bytes' }])
    answer = sized(128 * 1024)
    await expect(verifyJwt(clientWith(), await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  })

  it('without a copy is followed by the next request after one second, and no sooner', async () => {
    const { client } = await failureOf((_, response) => void response.writeHead(503).end())
    answer = publish(ec.publicJwk)
    time += 999
    expect(await rejectionOf(verifyJwt(client, await tokenOf(ec)))).toBeInstanceOf(JwksUnavailableError)
    expect(requests).toBe(1)
    time += 1
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  })
})

it('asks for an unknown name after half a minute, and no sooner', async () => {
  const client = clientWith()
  await verifyJwt(client, await tokenOf(ec))
  answer = publish(ec.publicJwk, next.publicJwk)
  time += 29_999
  expect(await rejectionOf(verifyJwt(client, await tokenOf(next)))).toMatchObject({ reason: 'unknown_key' })
  time += 1
  await expect(verifyJwt(client, await tokenOf(next))).resolves.toEqual({ sub: 'next' })
})

it('uses the clock of the process when none is given', async () => {
  const client = new JwksClient({ url })
  await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  expect(requests).toBe(1)
})

it('imports a key once', async () => {
  const client = clientWith()
  const header = { alg: 'ES256', kid: 'ec' }
  expect(await client.findKey(header)).toBe(await client.findKey(header))
})

describe('a key name that is not in the copy', () => {
  it('fetches once for all tokens that name it, and finds a key that is new', async () => {
    const client = clientWith()
    await verifyJwt(client, await tokenOf(ec))
    answer = publish(ec.publicJwk, next.publicJwk)
    time += 30_000
    await Promise.all(Array.from({ length: 10 }, async () => verifyJwt(client, await tokenOf(next))))
    expect(requests).toBe(2)
  })

  it('fetches at most once in the cooldown, however many names are invented', async () => {
    const client = clientWith()
    const token = await tokenOf(ec)
    await verifyJwt(client, token)
    for (let second = 0; second < 60; second += 1) {
      const invented = forge({ alg: 'ES256', kid: `k${second}` }, {})
      expect(await rejectionOf(verifyJwt(client, invented))).toMatchObject({ reason: 'unknown_key' })
      time += 1_000
    }
    expect(requests).toBe(2)
    await expect(verifyJwt(client, token)).resolves.toEqual({ sub: 'ec' })
  })

  it('does not hold up tokens of known keys while a slow fetch is under way', async () => {
    const client = clientWith()
    await verifyJwt(client, await tokenOf(ec))
    let release = (): void => undefined
    const asked = new Promise<void>((resolve) => {
      answer = (_, response) => {
        release = () => void response.end(JSON.stringify({ keys: [ec.publicJwk, third.publicJwk] }))
        resolve()
      }
    })
    time += MINUTE
    const waiting = verifyJwt(client, await tokenOf(third))
    await asked
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
    release()
    await expect(waiting).resolves.toEqual({ sub: 'third' })
  })

  it('of a token that no published key can verify fetches nothing', async () => {
    const client = clientWith()
    const unnamed = forge({ alg: 'ES256' }, {})
    expect(await rejectionOf(verifyJwt(client, unnamed))).toMatchObject({ reason: 'unknown_key' })
    for (const alg of ['HS256', 'none', 'RS512']) {
      expect(await rejectionOf(verifyJwt(client, forge({ alg, kid: 'ec' }, {})))).toMatchObject({
        reason: 'algorithm',
      })
    }
    expect(requests).toBe(0)
  })
})

describe('a published key', () => {
  it('that cannot be used is skipped; the first of two with one name counts', async () => {
    const secret = 'x'.repeat(8) + SECRET
    answer = publish(
      { ...next.publicJwk, use: 'enc' },
      { ...rsaKey('weak', 1024).publicJwk },
      { ...rsaKey('other').publicJwk, alg: 'PS512' },
      { kty: 'oct', kid: 'shared', k: Buffer.from(secret).toString('base64url') },
      { ...ec.publicJwk, alg: 'ES256', use: 'sig', key_ops: ['verify'], x5c: ['text'] },
      { ...third.publicJwk, kid: 'ec' },
    )
    const client = clientWith()
    await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
    const mac = (input: string) => createHmac('sha256', secret).update(input).digest()
    const shared = forge({ alg: 'HS256', kid: 'shared' }, {}, mac)
    expect(await rejectionOf(verifyJwt(client, shared))).toMatchObject({ reason: 'algorithm' })
    for (const kid of ['next', 'weak', 'other', 'shared']) {
      const error = await rejectionOf(verifyJwt(client, forge({ alg: 'RS256', kid }, {})))
      expect(error).toMatchObject({ reason: 'unknown_key' })
    }
  })

  it('verifies only tokens of its own algorithm', async () => {
    const confused = forge({ alg: 'RS256', kid: 'ec' }, {})
    expect(await rejectionOf(verifyJwt(clientWith(), confused))).toMatchObject({ reason: 'algorithm' })
  })
})

it('fetch can be replaced, and gets no credentials and no redirects', async () => {
  const calls: unknown[][] = []
  const fetch: JwksClientOptions['fetch'] = (input, init) => {
    calls.push([input, init])
    return Promise.resolve(Response.json({ keys: [ec.publicJwk] }))
  }
  const client = clientWith({ url: 'https://id.example/jwks', fetch })
  await expect(verifyJwt(client, await tokenOf(ec))).resolves.toEqual({ sub: 'ec' })
  expect(calls).toEqual([['https://id.example/jwks', expect.objectContaining({ redirect: 'error' })]])
  expect(requests).toBe(0)
})

it('says which addresses it takes', () => {
  for (const address of ['httpx://id.example', 'xhttp://id.example', 'ftp://id.example'])
    expect(() => new JwksClient({ url: address })).toThrow(
      new TypeError('A JWK Set URL must use http or https'),
    )
  expect(() => new JwksClient({ url: new URL('https://id.example/jwks') })).not.toThrow()
})

it.each(['file:///etc/keys', 'data:application/json,{}', 'nonsense'])(
  '%s is no address of keys',
  (address) => {
    expect(() => new JwksClient({ url: address })).toThrow(/Invalid URL|must use http/)
  },
)
