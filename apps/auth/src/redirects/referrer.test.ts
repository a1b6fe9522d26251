import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo } from 'node:net'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { referrerOf } from './referrer.js'

const config = { siteUrl: 'https://app.dev', uriAllowList: ['https://*.ok.example/**'] }

describe('referrerOf (contract 0.6)', () => {
  const app = express()
  app.use(express.urlencoded({ extended: false }), express.json())
  app.use((req, res) => void res.send(referrerOf(req, config)))
  const server = createServer(app)
  let port: number
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => {
    server.close()
  })

  async function ask({ query = '', headers = {}, body = '' }): Promise<string> {
    const sent = request({
      host: '127.0.0.1',
      port,
      method: body === '' ? 'GET' : 'POST',
      path: `/${query}`,
      headers,
    })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream]
    let text = ''
    for await (const chunk of response) text += String(chunk)
    return text
  }

  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const inHeader = 'https://header.ok.example/1'
  const inQuery = `?redirect_to=${encodeURIComponent('https://query.ok.example/2')}`
  const referer = 'https://referer.ok.example/3'

  it('takes header, then query, then Referer, then the site', async () => {
    await expect(ask({ query: inQuery, headers: { redirect_to: inHeader, referer } })).resolves.toBe(inHeader)
    await expect(ask({ query: inQuery, headers: { referer } })).resolves.toBe('https://query.ok.example/2')
    await expect(ask({ headers: { referer } })).resolves.toBe(referer)
    await expect(ask({})).resolves.toBe('https://app.dev')
  })

  it('replaces a rejected value by the next candidate in silence', async () => {
    const evil = 'https://evil.io/'
    await expect(ask({ query: inQuery, headers: { redirect_to: evil } })).resolves.toBe(
      'https://query.ok.example/2',
    )
    await expect(ask({ query: `?redirect_to=${evil}`, headers: { referer } })).resolves.toBe(referer)
    await expect(ask({ headers: { referer: evil } })).resolves.toBe('https://app.dev')
  })

  it('reads a form, and nothing of a JSON body', async () => {
    const target = 'https://form.ok.example/4'
    const body = new URLSearchParams({ redirect_to: target }).toString()
    await expect(ask({ headers: form, body })).resolves.toBe(target)
    const json = JSON.stringify({ redirect_to: target })
    await expect(ask({ headers: { 'content-type': 'application/json' }, body: json })).resolves.toBe(
      'https://app.dev',
    )
  })

  it('takes the first of a repeated parameter and survives odd ones', async () => {
    await expect(ask({ query: `${inQuery}&redirect_to=https://evil.io` })).resolves.toBe(
      'https://query.ok.example/2',
    )
    await expect(ask({ query: '?redirect_to[a]=b&redirect_to=' })).resolves.toBe('https://app.dev')
  })
})
