import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { AddressGuard, BlockedAddressError, NameNotResolvedError } from './address-guard.js'
import type { Resolver } from './resolver.js'

const answering =
  (...addresses: string[]): Resolver =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))

type Looked = { error: Error | null; address: unknown; family: unknown }
const look = (guard: AddressGuard, options: { all?: boolean; family?: number | 'IPv4' | 'IPv6' }) =>
  new Promise<Looked>((resolve) => {
    guard.lookup('hook.example.com', options, (error, address, family) => resolve({ error, address, family }))
  })

describe('AddressGuard', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  it('gives all addresses of a name when every one is public', async () => {
    const guard = new AddressGuard({ resolver: answering('1.1.1.1', '2606:4700::1111') })
    expect(await guard.addressesOf('hook.example.com')).toHaveLength(2)
  })

  it.each([
    ['a private address', ['10.0.0.1']],
    ['one private address among public ones', ['1.1.1.1', '10.0.0.1']],
    ['a private IPv6 address behind a public IPv4 one', ['1.1.1.1', 'fd00::1']],
    ['an IPv4-mapped private address', ['::ffff:10.0.0.1']],
    ['a private address behind NAT64', ['64:ff9b::10.0.0.1']],
  ])('refuses a name with %s', async (_name, addresses) => {
    const guard = new AddressGuard({ resolver: answering(...addresses) })
    await expect(guard.addressesOf('hook.example.com')).rejects.toThrow(BlockedAddressError)
    expect((await look(guard, { all: true })).error).toBeInstanceOf(BlockedAddressError)
  })

  it.each([
    ['fails to resolve', () => Promise.reject(new Error('NXDOMAIN'))],
    ['has no address', answering()],
    ['never answers', () => new Promise<never>(() => undefined)],
  ])('refuses a name that %s', async (_name, resolver) => {
    const guard = new AddressGuard({ resolver, resolveTimeoutMs: 20 })
    await expect(guard.addressesOf('hook.example.com')).rejects.toThrow(NameNotResolvedError)
    expect((await look(guard, { all: true })).error).toBeInstanceOf(NameNotResolvedError)
  })

  it('asks nobody for a name that is empty, of which the system would say that it is deprecated', async () => {
    const resolver = jest.fn(answering('1.1.1.1'))
    const guard = new AddressGuard({ allowPrivateTargets: true, resolver })
    await expect(guard.addressesOf('')).rejects.toThrow(NameNotResolvedError)
    expect(resolver).not.toHaveBeenCalled()
  })

  it('waits three seconds for a name and no longer', async () => {
    jest.useFakeTimers()
    const guard = new AddressGuard({ resolver: () => new Promise<never>(() => undefined) })
    const outcome = jest.fn()
    guard.addressesOf('hook.example.com').catch(outcome)
    await jest.advanceTimersByTimeAsync(2999)
    expect(outcome).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(1)
    expect(outcome).toHaveBeenCalledWith(expect.any(NameNotResolvedError))
  })

  it('checks literals without asking the resolver', async () => {
    const guard = new AddressGuard({ resolver: () => Promise.reject(new Error('asked')) })
    expect(await guard.addressesOf('1.1.1.1')).toEqual([{ address: '1.1.1.1', family: 4 }])
    await expect(guard.addressesOf('::1')).rejects.toThrow(BlockedAddressError)
    expect(() => guard.requireAllowedLiteral('127.0.0.1')).toThrow(BlockedAddressError)
    expect(() => guard.requireAllowedLiteral('hook.example.com')).not.toThrow()
  })

  it('answers a lookup with the whole list when all are asked for, else with one of the family', async () => {
    const guard = new AddressGuard({ resolver: answering('2606:4700::1111', '1.1.1.1') })
    const both = [
      { address: '2606:4700::1111', family: 6 },
      { address: '1.1.1.1', family: 4 },
    ]
    expect(await look(guard, { all: true })).toEqual({ error: null, address: both, family: undefined })
    expect(await look(guard, {})).toMatchObject({ address: '2606:4700::1111', family: 6 })
    expect(await look(guard, { family: 4 })).toMatchObject({ address: '1.1.1.1', family: 4 })
    expect(await look(guard, { family: 'IPv4', all: true })).toMatchObject({ address: [both[1]] })
    const only6 = new AddressGuard({ resolver: answering('2606:4700::1111') })
    expect((await look(only6, { family: 4 })).error).toBeInstanceOf(NameNotResolvedError)
  })

  it('lets private addresses pass only where that is switched on', async () => {
    const guard = new AddressGuard({ allowPrivateTargets: true, resolver: answering('127.0.0.1') })
    expect(await guard.addressesOf('localhost')).toHaveLength(1)
    expect(() => guard.requireAllowedLiteral('::1')).not.toThrow()
  })

  it('says in each error what was wrong, and neither the host nor an address', async () => {
    const failed = new Error('NXDOMAIN hook.example.com')
    const errorOf = (guard: AddressGuard, host = 'hook.example.com') =>
      guard.addressesOf(host).then(
        () => null,
        (error: unknown) => error,
      )
    const unresolved = { name: 'NameNotResolvedError', message: 'the name does not resolve' }
    expect(await errorOf(new AddressGuard({ resolver: () => Promise.reject(failed) }))).toMatchObject({
      ...unresolved,
      cause: failed,
    })
    const silent = new AddressGuard({
      resolver: () => new Promise<never>(() => undefined),
      resolveTimeoutMs: 5,
    })
    expect(await errorOf(silent)).toMatchObject({ ...unresolved, cause: { message: 'no answer in 5 ms' } })
    expect(await errorOf(new AddressGuard({ resolver: answering() }))).toMatchObject({
      name: 'NameNotResolvedError',
      message: 'the name has no address',
    })
    const inside = new AddressGuard({ resolver: answering('10.0.0.1') })
    const blocked = { name: 'BlockedAddressError', message: 'an address is not public' }
    expect(await errorOf(inside)).toMatchObject(blocked)
    expect(await errorOf(inside, '10.0.0.1')).toMatchObject(blocked)
    expect(() => inside.requireAllowedLiteral('10.0.0.1')).toThrow('the address is not public')
    expect(() => inside.requireAllowedLiteral('1.1.1.1')).not.toThrow()
  })

  it('gives a lookup that failed no address', async () => {
    const nothing = { address: '', family: 0 }
    expect(await look(new AddressGuard({ resolver: answering('10.0.0.1') }), {})).toMatchObject(nothing)
    const only4 = await look(new AddressGuard({ resolver: answering('1.1.1.1') }), { family: 6 })
    expect(only4).toMatchObject(nothing)
    expect(only4.error).toMatchObject({ message: 'the name has no address of this family' })
  })

  it('knows the families by number and by name', async () => {
    const guard = new AddressGuard({ resolver: answering('1.1.1.1', '2606:4700::1111') })
    for (const family of [6, 'IPv6'] as const)
      expect(await look(guard, { family })).toMatchObject({ address: '2606:4700::1111', family: 6 })
    for (const family of [0, 4, 'IPv4'] as const)
      expect(await look(guard, { family })).toMatchObject({ address: '1.1.1.1', family: 4 })
    expect(await guard.addressesOf('2606:4700::1111')).toEqual([{ address: '2606:4700::1111', family: 6 }])
  })

  it('leaves no timer behind an answer', async () => {
    jest.useFakeTimers()
    await new AddressGuard({ resolver: answering('1.1.1.1') }).addressesOf('hook.example.com')
    expect(jest.getTimerCount()).toBe(0)
  })

  it('asks the operating system where private addresses are allowed, for names of the hosts file', async () => {
    const guard = new AddressGuard({ allowPrivateTargets: true })
    expect(guard.allowsPrivateTargets).toBe(true)
    expect((await guard.addressesOf('localhost')).length).toBeGreaterThan(0)
    expect(new AddressGuard({ resolver: answering() }).allowsPrivateTargets).toBe(false)
  })
})
