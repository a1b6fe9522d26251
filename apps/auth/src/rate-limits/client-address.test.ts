import { type Request } from 'express'
import { describe, expect, it } from '@jest/globals'
import { clientIp, clientKey, type ClientAddressConfig } from './client-address.js'

const off: ClientAddressConfig = {
  forwardedForEnabled: false,
  forwardedForHeader: 'X-Forwarded-For',
  rateLimitHeader: undefined,
}
const forwarded = { ...off, forwardedForEnabled: true }
const named = { ...off, rateLimitHeader: 'My-Client' }

function aRequest(headers: Record<string, string> = {}, remoteAddress = '192.0.2.99'): Request {
  const get = (name: string) => headers[name.toLowerCase()]
  return { get, socket: { remoteAddress } } as unknown as Request
}

describe('clientKey (contract 12.1)', () => {
  it('is the first forwarded address where that is switched on', () => {
    const req = aRequest({ 'x-forwarded-for': ' 198.51.100.7 , 10.0.0.1', 'my-client': 'other' })
    expect(clientKey(req, { ...forwarded, rateLimitHeader: 'My-Client' })).toBe('198.51.100.7')
  })

  it('reads the header of the platform', () => {
    const config = { ...forwarded, forwardedForHeader: 'CF-Connecting-IP' }
    expect(clientKey(aRequest({ 'cf-connecting-ip': '2001:db8::1' }), config)).toBe('2001:db8::1')
  })

  it.each(['', 'unknown', '300.1.1.1', 'evil, 198.51.100.7'])('passes over a forwarded %j', (value) => {
    const req = aRequest({ 'x-forwarded-for': value, 'my-client': 'fallback' })
    expect(clientKey(req, { ...forwarded, rateLimitHeader: 'My-Client' })).toBe('fallback')
    expect(clientKey(req, forwarded)).toBeUndefined()
  })

  it('is the first, trimmed part of the named header otherwise', () => {
    expect(clientKey(aRequest({ 'my-client': ' abc , def' }), named)).toBe('abc')
    expect(clientKey(aRequest({ 'my-client': ' ,def' }), named)).toBeUndefined()
    expect(clientKey(aRequest({ 'my-client': 'x'.repeat(5000) }), named)).toHaveLength(128)
  })

  it('is nothing when neither is configured', () => {
    expect(clientKey(aRequest({ 'x-forwarded-for': '198.51.100.7' }), off)).toBeUndefined()
  })
})

describe('clientIp (contract 12.1)', () => {
  it('is the address of the socket: forwarded headers are not believed', () => {
    expect(clientIp(aRequest({ 'x-forwarded-for': '198.51.100.7' }), off)).toBe('192.0.2.99')
    expect(clientIp(aRequest({ 'my-client': '198.51.100.7' }), named)).toBe('192.0.2.99')
  })

  it('is the forwarded address where that is switched on and it is one', () => {
    expect(clientIp(aRequest({ 'x-forwarded-for': '198.51.100.7' }), forwarded)).toBe('198.51.100.7')
    expect(clientIp(aRequest({ 'x-forwarded-for': 'unknown' }), forwarded)).toBe('192.0.2.99')
  })

  it('shows an IPv4 client of a dual-stack socket as IPv4', () => {
    expect(clientIp(aRequest({}, '::ffff:192.0.2.1'), off)).toBe('192.0.2.1')
  })
})
