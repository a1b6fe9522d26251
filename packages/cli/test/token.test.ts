import { describe, expect, it } from '@jest/globals'
import { json } from './support/cli.js'
import { EMAIL, PASSWORD } from './support/identity-double.js'
import { useWorld } from './support/world.js'

const world = useWorld()
const password = ['--password', '--email', EMAIL]

describe('token', () => {
  it('prints a new token, and nothing else, on stdout', async () => {
    const ended = await world.machine.run(['token', 'create', '--name', 'ci', '--expires-in-days', '30'])
    expect(ended.code).toBe(0)
    const [[token, entry] = []] = [...world.service.tokens]
    expect(ended.stdout).toBe(`${token}\n`)
    expect(entry).toMatchObject({ name: 'ci', expires_at: '2026-01-31T00:00:00.000Z' })
    expect(ended.stderr).not.toContain(token)
  })

  it('prints the whole answer for --json', async () => {
    const ended = await world.machine.run(['token', 'create', '--name', 'ci', '--json'])
    expect(json(ended)).toMatchObject({ name: 'ci', token: expect.stringMatching(/^svp_/), last_used_at: '' })
  })

  it('gives the right to manage tokens back after each command', async () => {
    await world.machine.run(['token', 'list'])
    expect(world.service.seen.map(({ path }) => path).slice(-2)).toEqual(['/account/tokens', '/oauth/revoke'])
  })

  it('gives the right back when the command fails', async () => {
    const ended = await world.machine.run(['token', 'revoke', '7'])
    expect(ended.code).toBe(1)
    expect(world.service.seen.at(-1)?.path).toBe('/oauth/revoke')
  })

  it('lists tokens with a password, without a token of the list', async () => {
    const { token, hint } = world.service.issueToken('laptop')
    const ended = await world.machine.run(['token', 'list', ...password], { input: PASSWORD })
    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/^ID +NAME +TOKEN +STATUS +EXPIRES +LAST USED\n/)
    expect(ended.stdout).toContain(`laptop  ${hint}`)
    expect(ended.stdout).not.toContain(token)
  })

  it('revokes by id', async () => {
    const { id } = world.service.issueToken()
    const ended = await world.machine.run(['token', 'revoke', id, '--json', ...password], { input: PASSWORD })
    expect(json(ended)).toEqual({ ok: true, id })
    expect(world.service.tokens.size).toBe(0)
  })

  it('stores nothing', async () => {
    await world.machine.run(['token', 'create', '--name', 'ci'])
    expect((await world.machine.run(['whoami'])).code).toBe(3)
  })

  it.each([['0'], ['366'], ['1.5'], ['ten']])('refuses a life of %s days before signing in', async (days) => {
    const ended = await world.machine.run(['token', 'create', '--name', 'ci', '--expires-in-days', days])
    expect(ended.code).toBe(2)
    expect(world.service.seen).toEqual([])
  })
})
