import { describe, expect, it } from '@jest/globals'
import { parseRedisNode, parseRedisUrl } from './addresses.js'

describe('parseRedisNode', () => {
  it.each([
    ['redis-1.example:6379', { host: 'redis-1.example', port: 6379 }],
    ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
  ])('reads %s', (node, expected) => {
    expect(parseRedisNode(node)).toEqual(expected)
  })

  it.each([
    'host',
    ':6379',
    'host:',
    'host:0',
    'host:65536',
    'host:1x',
    '::1:6379',
    '[host]:1',
    '[]:1',
    'a b:1',
    'redis://host:1',
  ])('refuses %j', (node) => {
    expect(() => parseRedisNode(node)).toThrow('must be host:port, with an IPv6 address in brackets')
  })
})

describe('parseRedisUrl', () => {
  it('takes port 6379 and database 0 unless the URL says otherwise', () => {
    expect(parseRedisUrl('redis://redis')).toEqual({
      hostname: 'redis',
      port: 6379,
      username: undefined,
      password: undefined,
      db: 0,
      tls: undefined,
    })
    expect(parseRedisUrl('redis://redis/')).toMatchObject({ db: 0 })
    expect(parseRedisUrl('rediss://redis:1/3')).toMatchObject({ port: 1, db: 3, tls: {} })
  })

  it.each([
    ['http://redis', 'redis:// or rediss://'],
    ['redis:6379', 'redis:// or rediss://'],
    ['redis://redis:70000', 'redis:// or rediss://'],
    ['redis://redis/cache', 'number of a database'],
    ['redis://:100%25%zz@redis', 'percent-encoded'],
  ])('refuses %s', (url, message) => {
    expect(() => parseRedisUrl(url)).toThrow(message)
  })
})
