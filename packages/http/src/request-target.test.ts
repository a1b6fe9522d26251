import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { listen, underOneLoopbackName, type Listener } from './index.js'

let listener: Listener | undefined
afterEach(() => listener?.close(0))

/** Sends a request with exactly this target in its request line, and returns where it is redirected and the body. */
async function ask(path: string, knownAs = 'https://auth.example.com') {
  const app = express().use(underOneLoopbackName(knownAs))
  app.use(({ url, headers, query }, res) => void res.json({ url, host: headers.host, query }))
  listener = await listen(app, { port: 0, host: '127.0.0.1' })
  const { port } = listener
  return new Promise<{ location: string | undefined; body: string }>((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, headers: { Host: '127.0.0.1:8081' } }, (answer) => {
      text(answer).then((body) => resolve({ location: answer.headers.location, body }), reject)
    }).on('error', reject)
  })
}

describe('a request with the whole URL in its first line (RFC 9112 section 3.2.2)', () => {
  it.each([
    ['http://other.example:81/ui?a=%2F', { url: '/ui?a=%2F', host: 'other.example:81', query: { a: '/' } }],
    ['HTTPS://other.example', { url: '/', host: 'other.example', query: {} }],
    ['http://other.example?a=b', { url: '/?a=b', host: 'other.example', query: { a: 'b' } }],
    ['http://other.example//third.example', { url: '//third.example', host: 'other.example', query: {} }],
  ])('is one for its path, at its host: %s', async (target, expected) => {
    expect(JSON.parse((await ask(target)).body)).toEqual(expected)
  })

  it('leads to a page under the name of the service, not to something in front of its host', async () => {
    const { location } = await ask('http://127.0.0.1:8081/ui?a=b', 'http://localhost:8081')
    expect(location).toBe('http://localhost:8081/ui?a=b')
  })

  it.each(['/ui?to=http://other.example/', '//other.example/ui'])('is not taken for %s', async (target) => {
    expect(JSON.parse((await ask(target)).body)).toMatchObject({ url: target, host: '127.0.0.1:8081' })
  })
})
