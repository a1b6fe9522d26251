import type { Request } from 'express'
import { describe, expect, it } from '@jest/globals'
import { clientIp, clientOf, type ClientAddressRules } from './client-address.js'

const off: ClientAddressRules = {
  forwardedForEnabled: false,
  forwardedForHeader: 'X-Forwarded-For',
  forwardedForHops: 1,
  rateLimitHeader: undefined,
}
const forwarded = { ...off, forwardedForEnabled: true }
const named = { ...off, rateLimitHeader: 'My-Client' }

function aRequest(headers: Record<string, string> = {}, remoteAddress = '192.0.2.99'): Request {
  const get = (name: string) => headers[name.toLowerCase()]
  return { get, socket: { remoteAddress } } as unknown as Request
}

describe('clientOf', () => {
  it.each([
    ['what our one proxy saw, not what the client claims', '6.6.6.6, 198.51.100.7', 1],
    ['what the first of two proxies saw', '6.6.6.6, 198.51.100.7, 10.0.0.8', 2],
    ['the first, when the chain is shorter than it should be', '198.51.100.7', 3],
    ['the first, where the platform answers for it', '198.51.100.7, 10.0.0.1', 0],
  ])('is, of the forwarded addresses, %s', (_, header, forwardedForHops) => {
    const req = aRequest({ 'x-forwarded-for': ` ${header} `, 'my-client': 'other' })
    const config = { ...forwarded, forwardedForHops, rateLimitHeader: 'My-Client' }
    expect(clientOf(req, config).key).toBe('198.51.100.7')
  })

  it('reads the header of the platform, and counts IPv6 by its network', () => {
    const config = { ...forwarded, forwardedForHeader: 'CF-Connecting-IP' }
    expect(clientOf(aRequest({ 'cf-connecting-ip': '2001:db8::1' }), config).key).toBe('2001:db8:0:0::/64')
  })

  it.each(['', 'unknown', '300.1.1.1', '198.51.100.7, evil'])('passes over a forwarded %j', (value) => {
    const req = aRequest({ 'x-forwarded-for': value, 'my-client': 'fallback' })
    expect(clientOf(req, { ...forwarded, rateLimitHeader: 'My-Client' }).key).toBe('fallback')
    expect(clientOf(req, forwarded).key).toBe('192.0.2.99')
  })

  it('is the first, trimmed part of the named header otherwise', () => {
    expect(clientOf(aRequest({ 'my-client': ' abc , def' }), named)).toEqual({ key: 'abc', shared: false })
    expect(clientOf(aRequest({ 'my-client': ' ,def' }), named).key).toBe('192.0.2.99')
    expect(clientOf(aRequest({ 'my-client': 'x'.repeat(5000) }), named).key).toHaveLength(128)
    expect(clientOf(aRequest({ 'my-client': '::FFFF:c000:201' }), named).key).toBe('192.0.2.1')
  })

  // The port changes with every connection. If the key included it, no client would ever reach a limit.
  it.each([
    ['198.51.100.7:49152', '198.51.100.7'],
    ['[2001:db8:1:2::7]:49152', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::8]', '2001:db8:1:2::/64'],
    ['[::ffff:198.51.100.7]:1', '198.51.100.7'],
  ])('leaves out the port that some proxies add: %s', (sent, key) => {
    expect(clientOf(aRequest({ 'x-forwarded-for': sent }), forwarded).key).toBe(key)
    expect(clientOf(aRequest({ 'my-client': sent }), named).key).toBe(key)
  })

  it('is the socket when neither is configured', () => {
    const req = aRequest({ 'x-forwarded-for': '198.51.100.7' })
    expect(clientOf(req, off)).toEqual({ key: '192.0.2.99', shared: false })
  })

  it.each(['127.0.0.1', '::ffff:10.0.0.1', 'fd00::1'])('may stand for many at %s', (address) => {
    expect(clientOf(aRequest({}, address), off).shared).toBe(true)
    expect(clientOf(aRequest({ 'x-forwarded-for': address }, address), forwarded).shared).toBe(false)
  })
})

describe('clientIp', () => {
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
