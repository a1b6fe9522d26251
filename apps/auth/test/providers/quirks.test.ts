import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Json } from '../support/api.js'
import {
  depart,
  providerEnv,
  signInWith,
  startFakeProvider,
  userOf,
  type FakeProvider,
} from '../support/fake-provider.js'
import { startServer, type TestServer } from '../support/server.js'

const NAMES = ['bitbucket', 'discord', 'github', 'gitlab', 'slack', 'spotify', 'twitch', 'workos']

describe('quirks of single providers (docs/specification.md#providers)', () => {
  let provider: FakeProvider
  let server: TestServer
  beforeAll(async () => {
    provider = await startFakeProvider()
    const env = NAMES.map((name) => providerEnv(name, `${provider.url}/${name}`))
    server = await startServer(Object.assign({}, ...env) as Record<string, string>)
    const tokenPaths = [
      'bitbucket/site/oauth2/access_token',
      'discord/api/oauth2/token',
      'github/login/oauth/access_token',
      'gitlab/oauth/token',
      'slack/api/openid.connect.token',
      'spotify/api/token',
      'twitch/oauth2/token',
    ]
    for (const path of tokenPaths) provider.answer(`POST /${path}`, { body: { access_token: 't' } })
  })
  afterAll(async () => {
    await server.close()
    await provider.close()
  })

  const metadata = async (name: string) =>
    (await userOf(server, await signInWith(server, name)))['user_metadata'] as Json

  it.each([
    [{ discriminator: '7' }, 'embed/avatars/2.png', 'x#7'],
    [{ discriminator: '0' }, 'embed/avatars/0.png', 'x#0'],
    [{}, 'embed/avatars/0.png', 'x#0'],
    [{ avatar: 'still' }, 'avatars/d-still/still.png', 'x#0'],
    [{ avatar: 'a_moves' }, 'avatars/d-a_moves/a_moves.gif', 'x#0'],
  ])('discord: %j has the picture %s', async (more, picture, name) => {
    const id = `d-${(more as { avatar?: string }).avatar ?? `${JSON.stringify(more).length}`}`
    provider.answer('GET /discord/api/users/@me', {
      body: { id, username: 'x', verified: true, email: `${id}@discord.example`.replace('_', ''), ...more },
    })
    expect(await metadata('discord')).toMatchObject({
      avatar_url: `https://cdn.discordapp.com/${picture}`,
      name,
    })
  })

  it('twitch: empty data is a failure', async () => {
    provider.answer('GET /twitch/helix/users', { body: { data: [] } })
    expect((await signInWith(server, 'twitch')).query['error_code']).toBe('unexpected_failure')
  })

  it('slack: a refusal with status 200 is a failure, and the older name works too', async () => {
    provider.answer('GET /slack/api/openid.connect.userInfo', { body: { ok: false, error: 'invalid_auth' } })
    expect((await signInWith(server, 'slack_oidc')).query['error_code']).toBe('unexpected_failure')
    expect(server.lines.some((line) => JSON.stringify(line).includes('invalid_auth'))).toBe(true)
  })

  it.each([
    [{}, 400],
    [{ connection: 'c' }, 302],
    [{ organization: 'o' }, 302],
    [{ workos_provider: 'GoogleOAuth' }, 302],
  ])('workos: the caller must say which of its providers: %j', async (query, status) => {
    const { answer, location } = await depart(server, 'workos', query)
    expect(answer.status).toBe(status)
    if (status === 400) return expect(answer.body['error_code']).toBe('validation_failed')
    const { workos_provider: name, ...passed } = query as Record<string, string>
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      ...passed,
      ...(name ? { provider: name } : {}),
    })
    expect(location.searchParams.has('workos_provider')).toBe(false)
  })

  it('gitlab: only the main address can be verified, and a null date is none', async () => {
    const user = { id: 7, email: 'gl7@gitlab.example', confirmed_at: null }
    provider.answer('GET /gitlab/api/v4/user', { body: user })
    provider.answer('GET /gitlab/api/v4/user/emails', {
      body: [{ email: 'extra@gitlab.example', confirmed_at: '2020-01-01T00:00:00Z' }],
    })
    expect((await signInWith(server, 'gitlab')).query['error_code']).toBe('provider_email_needs_verification')
  })

  it.each(['null', '"text"', '[]', '{"id":null,"login":"x"}', '{"id":""}'])(
    'github: the user %s is nobody, whatever the library makes of it',
    async (body) => {
      provider.answer('GET /github/api/v3/user', { body })
      provider.answer('GET /github/api/v3/user/emails', {
        body: [{ email: 'nobody@gh.example', verified: true, primary: true }],
      })
      expect((await signInWith(server, 'github')).query['error_code']).toBe('unexpected_failure')
    },
  )

  it('github: without a primary address the last one counts', async () => {
    provider.answer('GET /github/api/v3/user', { body: { id: 77, login: 'x' } })
    provider.answer('GET /github/api/v3/user/emails', {
      body: ['one@gh.example', 'two@gh.example'].map((email) => ({ email, verified: true, primary: false })),
    })
    expect(await metadata('github')).toMatchObject({ email: 'two@gh.example', provider_id: '77' })
  })

  it.each([
    ['profile', { id: { toString: 1, valueOf: 1 } }, []],
    ['list of addresses', { id: 9 }, { 0: null, length: 1 }],
  ])('github: a %s that the library cannot read is a failure', async (_, profile, emails) => {
    provider.answer('GET /github/api/v3/user', { body: profile })
    provider.answer('GET /github/api/v3/user/emails', { body: emails })
    expect((await signInWith(server, 'github')).query['error_code']).toBe('unexpected_failure')
  })

  it('bitbucket: the older place of the picture', async () => {
    provider.answer('GET /bitbucket/2.0/user', {
      body: { uuid: '{old}', avatar: { href: 'https://bb/old.png' } },
    })
    provider.answer('GET /bitbucket/2.0/user/emails', {
      body: { values: [{ email: 'old@bb.example', is_primary: true, is_confirmed: true }] },
    })
    expect(await metadata('bitbucket')).toMatchObject({ picture: 'https://bb/old.png' })
  })

  it('what cannot be an address is left out, as if it were not there', async () => {
    provider.answer('GET /spotify/v1/me', { body: { id: 's', email: 'not an address' } })
    expect((await signInWith(server, 'spotify')).query).toMatchObject({
      error_code: 'unexpected_failure',
      error_description: 'Error getting user email from external provider',
    })
  })
})
