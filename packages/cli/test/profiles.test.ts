import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()

describe('profiles', () => {
  it('keep sign-ins apart, each with its own token', async () => {
    const { machine, service } = world
    expect((await machine.run(['login', '--profile', 'staging'])).code).toBe(0)
    expect((await machine.run(['webhooks', 'list'])).code).toBe(3)
    expect((await machine.run(['webhooks', 'list', '--profile', 'staging'])).code).toBe(0)
    expect((await machine.run(['webhooks', 'list'], { env: { SIGNET_PROFILE: 'staging' } })).code).toBe(0)
    expect((await machine.run(['login'])).code).toBe(0)
    expect(service.tokens.size).toBe(2)
    await machine.run(['logout', '--profile', 'staging'])
    expect(service.tokens.size).toBe(1)
    expect((await machine.run(['webhooks', 'list'])).code).toBe(0)
  })

  it('are listed', async () => {
    const { machine, service } = world
    const none = await machine.run(['profiles'])
    expect(none).toMatchObject({ code: 0, stdout: '' })
    await machine.run(['login', '--profile', 'staging'])
    await machine.run(['login'])
    expect(json(await machine.run(['profiles', '--json']))).toEqual([
      { profile: 'default', url: service.url, email: 'ana@example.com', current: true },
      { profile: 'staging', url: service.url, email: 'ana@example.com', current: true },
    ])
  })

  it.each(['../x', 'A', '', 'a b', 'x'.repeat(33)])('have no name like %j', async (name) => {
    const { machine } = world
    const ended = await machine.run(['login', '--profile', name])
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('--profile')
    expect(() => readdirSync(dirname(machine.credentials))).toThrow()
  })
})
