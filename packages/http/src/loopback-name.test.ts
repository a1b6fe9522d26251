import { describe, expect, it } from '@jest/globals'
import express from 'express'
import request from 'supertest'
import { underOneLoopbackName } from './loopback-name.js'

const KNOWN_AS = 'http://localhost:8081'

type Options = { knownAs?: string; method?: 'get' | 'post' }

function ask(host: string, { knownAs = KNOWN_AS, method = 'get' }: Options = {}) {
  const app = express()
  app.use(underOneLoopbackName(knownAs))
  app.all('/ui', (_, res) => void res.send('the page'))
  return request(app)[method]('/ui?state=a%2Fb').set('Host', host)
}

describe('pages under one name of this machine', () => {
  it.each(['127.0.0.1:8081', '[::1]:8081'])('lead from %s, whatever was asked for', async (host) => {
    const answer = await ask(host).expect(307)
    expect(answer.headers['location']).toBe('http://localhost:8081/ui?state=a%2Fb')
  })

  it.each<[string, string, Options]>([
    ['by their name', 'localhost:8081', {}],
    ['by their name in capitals', 'LOCALHOST:8081', {}],
    ['on another port, where a proxy may be', '127.0.0.1:9000', {}],
    ['under a name of a network', 'signet.internal:8081', {}],
    ['without a readable name', 'a b', {}],
    ['to forms, which are refused by their origin', '127.0.0.1:8081', { method: 'post' }],
    ['where the service has a public name', '127.0.0.1:8081', { knownAs: 'https://auth.example.com:8081' }],
  ])('are shown %s', async (_, host, options) => {
    await ask(host, options).expect(200, 'the page')
  })
})
