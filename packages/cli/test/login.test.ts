import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { json } from './support/cli.js'
import { EMAIL, PASSWORD } from './support/identity-double.js'
import { useWorld } from './support/world.js'

const world = useWorld()

type Login = { url: string; email: string; token: { id: string; hint: string }; stored_in: string }
const stored = () => readFileSync(world.machine.credentials, 'utf8')
const liveTokens = () => [...world.service.tokens.keys()]
const passwordLogin = ['login', '--password', '--email', EMAIL]

describe('login with the browser', () => {
  it('exchanges the code, stores only the personal token and revokes the refresh token', async () => {
    const { service, machine } = world
    const ended = await machine.run(['login', '--json'])
    expect(ended).toMatchObject({ code: 0 })
    expect(json<Login>(ended)).toMatchObject({ url: service.url, email: EMAIL, stored_in: 'file' })
    expect(stored()).toContain(liveTokens()[0])
    expect(stored()).not.toMatch(/sv[acr]_/)
    const revoked = service.seen.find(({ path }) => path === '/oauth/revoke')
    expect(revoked?.body).toMatch(/token=svr_/)
  })

  it('asks with PKCE, state and the loopback address it listens on', async () => {
    await world.machine.run(['login'])
    const request = world.service.seen.find(({ path }) => path === '/oauth/authorize')
    const { code_challenge: challenge, state, ...rest } = Object.fromEntries(request?.url.searchParams ?? [])
    expect(rest).toEqual({
      response_type: 'code',
      client_id: 'svcl_cli',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      scope: 'mcp:connect tokens:manage',
      code_challenge_method: 'S256',
    })
    expect(challenge).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(state).toMatch(/^.{43}$/)
  })

  it('refuses an answer that names another issuer', async () => {
    world.service.behavior.issuer = 'https://evil.example'
    const ended = await world.machine.run(['login'])
    expect(ended).toMatchObject({ code: 5, stdout: '' })
    expect(world.service.seen.some(({ path }) => path === '/oauth/token')).toBe(false)
  })

  it('says that the person denied it', async () => {
    world.service.behavior.consent = 'deny'
    const ended = await world.machine.run(['login', '--json'])
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('"code":"access_denied"')
  })

  it('ignores a callback with another state and takes the right one afterwards', async () => {
    const running = world.machine.start(['login', '--no-browser'])
    const address = await waitFor(() => /http:\S+\/oauth\/authorize\S+/.exec(running.stderr())?.[0])
    const callback = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
    const foreign = await fetch(`${callback.href}?code=svc_x&state=foreign&iss=${world.service.url}`)
    expect(foreign.status).toBe(400)
    expect((await fetch(`${callback.origin}/other`)).status).toBe(404)
    const page = await fetch(address)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('You can close this window')
    expect(await running.ended).toMatchObject({ code: 0 })
    await expect(fetch(callback)).rejects.toThrow()
  })

  it('stops listening at Ctrl-C and leaves nothing stored', async () => {
    const running = world.machine.start(['login', '--no-browser'])
    await waitFor(() => running.stderr().includes('/oauth/authorize'))
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
    expect(() => stored()).toThrow()
  })

  it('prints the address when no browser can be started', async () => {
    const running = world.machine.start(['login'], { env: { BROWSER: '/nonexistent/browser' } })
    const address = await waitFor(() => /http:\S+\/oauth\/authorize\S+/.exec(running.stderr())?.[0])
    await fetch(address)
    expect(await running.ended).toMatchObject({ code: 0 })
  })

  it('names the address of a service that calls itself differently', async () => {
    const { service, machine } = world
    const other = service.url.replace('127.0.0.1', 'localhost')
    const ended = await machine.run(['login', '--url', other])
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain(`--url ${service.url}`)
  })
})

describe('login with a password', () => {
  it('sends the password to the identity service only and stores a personal token', async () => {
    const { machine, service, identity } = world
    const ended = await machine.run([...passwordLogin, '--json'], { input: `${PASSWORD}\n` })
    expect(ended).toMatchObject({ code: 0 })
    expect(json<Login>(ended).email).toBe(EMAIL)
    expect(identity.seen.map(({ url }) => url.pathname + url.search)).toEqual(['/token?grant_type=password'])
    expect(JSON.stringify(service.seen)).not.toContain(PASSWORD)
    expect(stored()).toContain(liveTokens()[0])
    expect(stored()).not.toContain(PASSWORD)
    expect(stored()).not.toContain([...identity.jwts][0])
  })

  it('asks for the code of an account with a second factor', async () => {
    world.identity.code.expected = '123456'
    const ended = await world.machine.run(passwordLogin, { input: `${PASSWORD}\n123456\n` })
    expect(ended).toMatchObject({ code: 0 })
  })

  it('has a code sent to a phone that is the second factor, once', async () => {
    const { identity, machine } = world
    Object.assign(identity.code, { expected: '654321', type: 'phone' })
    const ended = await machine.run(passwordLogin, { input: `${PASSWORD}\n654321\n` })
    expect(ended).toMatchObject({ code: 0 })
    const paths = identity.seen.map(({ url }) => url.pathname.replace(/[0-9a-f-]{36}/, 'id'))
    expect(paths).toEqual(['/token', '/factors/id/challenge', '/factors/id/verify'])
  })

  it('says that a security key needs a browser', async () => {
    Object.assign(world.identity.code, { expected: 'a touch', type: 'webauthn' })
    const ended = await world.machine.run(passwordLogin, { input: `${PASSWORD}\n` })
    expect(ended).toMatchObject({ code: 3, stdout: '' })
    expect(ended.stderr).toContain('Sign in with the browser, without --password.')
    expect(world.service.seen).toEqual([])
  })

  it('does not sign in with a wrong code', async () => {
    world.identity.code.expected = '123456'
    const ended = await world.machine.run(passwordLogin, { input: `${PASSWORD}\n000000\n` })
    expect(ended.code).toBe(1)
    expect(world.service.tokens.size).toBe(0)
  })

  it('ends with 3 when the password is wrong, without repeating it', async () => {
    const ended = await world.machine.run(passwordLogin, { input: 'a wrong secret\n' })
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain('Check the email address and the password')
    expect(ended.stderr).not.toContain('a wrong secret')
  })

  it('takes no password from the command line', async () => {
    const ended = await world.machine.run(['login', '--password', PASSWORD, '--email', EMAIL])
    expect(ended.code).toBe(2)
    expect(ended.stderr).not.toContain(PASSWORD)
    expect(world.identity.seen).toEqual([])
  })

  it('wants the account named when there is nobody to ask', async () => {
    const ended = await world.machine.run(['login', '--password'], { input: `${PASSWORD}\n` })
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('--email')
  })

  it('remembers the identity service of a service, also over a sign-in with the browser', async () => {
    const unnamed = { SIGNET_AUTH_URL: '' }
    await world.machine.run(passwordLogin, { input: PASSWORD })
    expect((await world.machine.run(['login'], { env: unnamed })).code).toBe(0)
    expect((await world.machine.run(passwordLogin, { env: unnamed, input: PASSWORD })).code).toBe(0)
    expect(world.identity.seen).toHaveLength(2)
  })

  it('sends no password to a guessed identity service', async () => {
    const ended = await world.machine.run([...passwordLogin, '--url', 'https://hooks.example.com'], {
      env: { SIGNET_AUTH_URL: '' },
      input: `${PASSWORD}\n`,
    })
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('SIGNET_AUTH_URL')
  })
})

describe('the stored token', () => {
  it('lies in a file of mode 0600 in a folder of mode 0700', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    expect(statSync(world.machine.credentials).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(world.machine.credentials)).mode & 0o777).toBe(0o700)
  })

  it('is closed to others again when somebody opened the file', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    chmodSync(world.machine.credentials, 0o644)
    const ended = await world.machine.run(['whoami'])
    expect(ended.code).toBe(0)
    expect(ended.stderr).toContain('warning')
    expect(statSync(world.machine.credentials).mode & 0o777).toBe(0o600)
  })

  it('is replaced and revoked by the next login', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    const [first] = liveTokens()
    await world.machine.run(passwordLogin, { input: PASSWORD })
    expect(liveTokens()).toHaveLength(1)
    expect(liveTokens()[0]).not.toBe(first)
  })

  it('is revoked at once when it cannot be stored', async () => {
    const folder = dirname(world.machine.credentials)
    mkdirSync(dirname(folder), { recursive: true })
    // A dangling link reads as if nothing were stored yet, and cannot be written to.
    symlinkSync(join(world.machine.home, 'nowhere', 'at-all'), folder)
    const ended = await world.machine.run(['login'])
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain('credentials.json cannot be written')
    expect(world.service.seen.some(({ path }) => path === '/account/tokens/current')).toBe(true)
    expect(liveTokens()).toEqual([])
  })

  it('is looked at before anybody has to sign in', async () => {
    mkdirSync(dirname(world.machine.credentials), { recursive: true })
    writeFileSync(world.machine.credentials, 'damaged', { mode: 0o600 })
    expect((await world.machine.run(['login'])).code).toBe(2)
    expect(world.service.seen).toEqual([])
  })

  it('makes its service the one that later commands use', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    const ended = await world.machine.run(['whoami', '--json'], { env: { SIGNET_URL: '' } })
    expect(json(ended)).toMatchObject({ url: world.service.url, email: EMAIL, source: 'file' })
  })

  it('is not sent to another service', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    const ended = await world.machine.run(['webhooks', 'list', '--url', world.identity.url])
    expect(ended.code).toBe(3)
    expect(world.identity.seen.filter(({ headers }) => headers.authorization)).toEqual([])
  })

  it('gives way to SIGNET_TOKEN', async () => {
    const { machine, service, signedIn } = world
    await machine.run(passwordLogin, { input: PASSWORD })
    const { env } = signedIn()
    const ended = await machine.run(['whoami', '--json'], { env })
    expect(json(ended)).toMatchObject({ source: 'environment' })
    expect(service.seen.at(-1)?.headers.authorization).toBe(`Bearer ${env['SIGNET_TOKEN']}`)
  })
})

describe('logout', () => {
  it('revokes the token and forgets it', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    const ended = await world.machine.run(['logout', '--json'])
    expect(json(ended)).toEqual({ url: world.service.url, revoked: true })
    expect(liveTokens()).toEqual([])
    expect(stored()).not.toContain('svp_')
    expect((await world.machine.run(['whoami'])).code).toBe(3)
  })

  it('remembers the service, so that signing in again needs no address', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    await world.machine.run(['logout'])
    const without = { env: { SIGNET_URL: undefined } }
    for (const command of ['logout', 'whoami']) {
      const ended = await world.machine.run([command], without)
      expect([ended.code, ended.stderr]).toEqual([
        3,
        expect.stringContaining(`You are not signed in to ${world.service.url}`),
      ])
    }
    const again = await world.machine.run(['login', '--json'], without)
    expect(json(again)).toMatchObject({ url: world.service.url })
  })

  it('forgets a token that was revoked elsewhere', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    world.service.tokens.clear()
    expect((await world.machine.run(['logout'])).code).toBe(0)
    expect(stored()).not.toContain('svp_')
  })

  it('keeps the token when the service cannot answer, unless told otherwise', async () => {
    await world.machine.run(passwordLogin, { input: PASSWORD })
    world.service.behavior.override = () => ({
      status: 503,
      body: { error: { code: 'unavailable', message: 'Later' } },
    })
    const refused = await world.machine.run(['logout'])
    expect(refused.code).toBe(5)
    expect(refused.stderr).toContain('--local')
    expect(stored()).toContain('svp_')
    expect((await world.machine.run(['logout', '--local'])).code).toBe(0)
    expect(stored()).not.toContain('svp_')
  })

  it('is not about the token of SIGNET_TOKEN', async () => {
    const ended = await world.machine.run(['logout'], world.signedIn())
    expect(ended.code).toBe(2)
    expect(world.service.tokens.size).toBe(1)
  })
})
