import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isUuid } from '../../src/users/uuid.js'
import { type Json } from '../support/api.js'
import {
  CALLBACK,
  CLIENT_ID,
  CLIENT_SECRET,
  depart,
  comeBack,
  providerEnv,
  startFakeProvider,
  targetOf,
  userOf,
  type FakeProvider,
  type Reply,
  type Seen,
} from '../support/fake-provider.js'
import { startServer, type TestServer } from '../support/server.js'

type Case = {
  name: string
  authorize: string
  token: string
  basic?: boolean
  scope?: string
  /** More that the caller must say. */
  query?: Record<string, string>
  env?: Record<string, string>
  tokenAnswer?: Json
  profile: Record<string, Reply | ((seen: Seen) => Reply)>
  /** What the profile calls must have carried. */
  check?: (provider: FakeProvider, base: string) => void
  /** Members of the identity's data. */
  identity: Json
  /** Where there is no verified address the sign-in ends in a request to confirm it. */
  refused?: boolean
}

const json = (body: unknown): Reply => ({ body })

const cases: Case[] = [
  {
    name: 'bitbucket',
    authorize: '/site/oauth2/authorize',
    token: '/site/oauth2/access_token',
    basic: true,
    scope: 'account email',
    profile: {
      'GET /2.0/user': json({
        uuid: '{bb-1}',
        display_name: 'Bit B',
        links: { avatar: { href: 'https://a/b.png' } },
      }),
      'GET /2.0/user/emails': json({
        values: [
          { email: 'other@bb.example', is_primary: false, is_confirmed: true },
          { email: 'Main@BB.example', is_primary: true, is_confirmed: true },
        ],
      }),
    },
    identity: {
      sub: '{bb-1}',
      provider_id: '{bb-1}',
      name: 'Bit B',
      full_name: 'Bit B',
      avatar_url: 'https://a/b.png',
      picture: 'https://a/b.png',
      email: 'main@bb.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'discord',
    authorize: '/api/oauth2/authorize',
    token: '/api/oauth2/token',
    scope: 'email identify',
    profile: {
      'GET /api/users/@me': json({
        id: '80351110224678912',
        username: 'nelly',
        discriminator: '1337',
        global_name: 'Nelly',
        avatar: 'a_8342729',
        verified: true,
        email: 'nelly@discord.example',
      }),
    },
    identity: {
      sub: '80351110224678912',
      provider_id: '80351110224678912',
      name: 'nelly#1337',
      full_name: 'nelly',
      custom_claims: { global_name: 'Nelly' },
      picture: 'https://cdn.discordapp.com/avatars/80351110224678912/a_8342729.gif',
      avatar_url: 'https://cdn.discordapp.com/avatars/80351110224678912/a_8342729.gif',
      email: 'nelly@discord.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'facebook',
    authorize: '/dialog/oauth',
    token: '/oauth/access_token',
    scope: 'email',
    profile: {
      'GET /me': json({
        id: '1001',
        email: 'fb@facebook.example',
        first_name: 'Fay',
        last_name: 'Book',
        name: 'Fay B.',
        picture: { data: { url: 'https://fb/p.jpg' } },
      }),
    },
    check(provider, base) {
      const proof = createHmac('sha256', CLIENT_SECRET).update('the-access-token').digest('hex')
      expect(provider.last(`GET ${base}/me`).query).toEqual({
        fields: 'email,first_name,last_name,name,picture',
        appsecret_proof: proof,
      })
    },
    identity: {
      sub: '1001',
      provider_id: '1001',
      name: 'Fay Book',
      full_name: 'Fay Book',
      nickname: 'Fay B.',
      slug: 'Fay B.',
      picture: 'https://fb/p.jpg',
      avatar_url: 'https://fb/p.jpg',
      email: 'fb@facebook.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'figma',
    authorize: '/oauth',
    token: '/v1/oauth/token',
    basic: true,
    scope: 'current_user:read',
    profile: {
      'GET /v1/me': json({
        id: 'fi-1',
        email: 'fi@figma.example',
        handle: 'Fig',
        img_url: 'https://fi/p.png',
      }),
    },
    identity: {
      sub: 'fi-1',
      provider_id: 'fi-1',
      name: 'Fig',
      full_name: 'Fig',
      picture: 'https://fi/p.png',
      avatar_url: 'https://fi/p.png',
      email: 'fi@figma.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'github',
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    scope: 'user:email',
    profile: {
      'GET /api/v3/user': json({
        id: 583231,
        login: 'octo',
        name: 'Octo Cat',
        avatar_url: 'https://gh/o.png',
      }),
      'GET /api/v3/user/emails': json([
        { email: 'octo@github.example', primary: true, verified: true },
        { email: 'octo@old.example', primary: false, verified: false },
      ]),
    },
    identity: {
      sub: '583231',
      provider_id: '583231',
      name: 'Octo Cat',
      full_name: 'Octo Cat',
      user_name: 'octo',
      preferred_username: 'octo',
      picture: 'https://gh/o.png',
      avatar_url: 'https://gh/o.png',
      email: 'octo@github.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'gitlab',
    authorize: '/oauth/authorize',
    token: '/oauth/token',
    scope: 'read_user',
    profile: {
      'GET /api/v4/user': json({
        id: 42,
        name: 'Git Lab',
        email: 'gl@gitlab.example',
        avatar_url: 'https://gl/a.png',
        confirmed_at: '2020-01-01T00:00:00Z',
      }),
      'GET /api/v4/user/emails': json([{ id: 1, email: 'gl@second.example' }]),
    },
    identity: {
      sub: '42',
      provider_id: '42',
      name: 'Git Lab',
      full_name: 'Git Lab',
      picture: 'https://gl/a.png',
      avatar_url: 'https://gl/a.png',
      email: 'gl@gitlab.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'google',
    authorize: '/o/oauth2/v2/auth',
    token: '/token',
    scope: 'email profile',
    profile: {
      'GET /userinfo/v2/me': json({
        id: '108',
        email: 'go@google.example',
        verified_email: true,
        name: 'Goo Gle',
        given_name: 'Goo',
        family_name: 'Gle',
        picture: 'https://go/p.jpg',
        locale: 'de',
        hd: 'google.example',
      }),
    },
    identity: {
      sub: '108',
      provider_id: '108',
      name: 'Goo Gle',
      full_name: 'Goo Gle',
      given_name: 'Goo',
      family_name: 'Gle',
      locale: 'de',
      picture: 'https://go/p.jpg',
      avatar_url: 'https://go/p.jpg',
      custom_claims: { hd: 'google.example' },
      email: 'go@google.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'notion',
    authorize: '/v1/oauth/authorize',
    token: '/v1/oauth/token',
    basic: true,
    profile: {
      'GET /v1/users/me': json({
        object: 'user',
        bot: {
          owner: {
            user: {
              id: 'no-1',
              name: 'No Tion',
              avatar_url: 'https://no/a.png',
              person: { email: 'no@notion.example' },
            },
          },
        },
      }),
    },
    check(provider, base) {
      expect(provider.last(`GET ${base}/v1/users/me`).headers['notion-version']).toBe('2021-08-16')
    },
    identity: {
      sub: 'no-1',
      provider_id: 'no-1',
      name: 'No Tion',
      full_name: 'No Tion',
      picture: 'https://no/a.png',
      avatar_url: 'https://no/a.png',
      email: 'no@notion.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'slack',
    authorize: '/openid/connect/authorize',
    token: '/api/openid.connect.token',
    scope: 'profile email openid',
    profile: {
      'GET /api/openid.connect.userInfo': json({
        ok: true,
        sub: 'U1',
        'https://slack.com/user_id': 'U1',
        'https://slack.com/team_id': 'T1',
        email: 'sl@slack.example',
        email_verified: true,
        name: 'Sla Ck',
        picture: 'https://sl/p.png',
      }),
    },
    identity: {
      sub: 'U1',
      provider_id: 'U1',
      name: 'Sla Ck',
      full_name: 'Sla Ck',
      picture: 'https://sl/p.png',
      avatar_url: 'https://sl/p.png',
      custom_claims: { 'https://slack.com/team_id': 'T1' },
      email: 'sl@slack.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'snapchat',
    authorize: '/accounts/oauth2/auth',
    token: '/accounts/oauth2/token',
    scope: [
      'https://auth.snapchat.com/oauth2/api/user.external_id',
      'https://auth.snapchat.com/oauth2/api/user.display_name',
      'https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar',
    ].join(' '),
    env: { EMAIL_OPTIONAL: 'true' },
    profile: {
      'GET /v1/me': json({
        data: { me: { externalId: 'sn-1', displayName: 'Snap', bitmoji: { avatar: 'https://sn/b.png' } } },
      }),
    },
    check(provider, base) {
      const { query } = provider.last(`GET ${base}/v1/me`)
      expect(query['query']).toMatch(/^\{ ?me ?\{ ?externalId displayName bitmoji ?\{ ?avatar/)
    },
    identity: {
      sub: 'sn-1',
      provider_id: 'sn-1',
      name: 'Snap',
      full_name: 'Snap',
      picture: 'https://sn/b.png',
      avatar_url: 'https://sn/b.png',
      email_verified: false,
      phone_verified: false,
    },
  },
  {
    name: 'spotify',
    authorize: '/authorize',
    token: '/api/token',
    basic: true,
    scope: 'user-read-email',
    profile: {
      'GET /v1/me': json({
        id: 'sp-1',
        email: 'sp@spotify.example',
        display_name: 'Spot',
        images: [
          { url: 'https://sp/64.png', width: 64 },
          { url: 'https://sp/300.png', width: 300 },
        ],
      }),
    },
    refused: true,
    identity: {
      sub: 'sp-1',
      provider_id: 'sp-1',
      name: 'Spot',
      full_name: 'Spot',
      picture: 'https://sp/300.png',
      avatar_url: 'https://sp/300.png',
      email: 'sp@spotify.example',
      email_verified: false,
      phone_verified: false,
    },
  },
  {
    name: 'twitch',
    authorize: '/oauth2/authorize',
    token: '/oauth2/token',
    scope: 'user:read:email',
    tokenAnswer: { scope: ['user:read:email'] },
    profile: {
      'GET /helix/users': json({
        data: [
          {
            id: 'tw-1',
            login: 'twit',
            display_name: 'Twit Ch',
            email: 'tw@twitch.example',
            profile_image_url: 'https://tw/p.png',
          },
        ],
      }),
    },
    check(provider, base) {
      expect(provider.last(`GET ${base}/helix/users`).headers['client-id']).toBe(CLIENT_ID)
    },
    identity: {
      sub: 'tw-1',
      provider_id: 'tw-1',
      name: 'twit',
      full_name: 'twit',
      nickname: 'Twit Ch',
      slug: 'Twit Ch',
      picture: 'https://tw/p.png',
      avatar_url: 'https://tw/p.png',
      email: 'tw@twitch.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'workos',
    authorize: '/sso/authorize',
    token: '/sso/token',
    query: { connection: 'conn_1', workos_provider: 'GoogleOAuth' },
    tokenAnswer: {
      profile: {
        id: 'prof_1',
        email: 'wo@workos.example',
        first_name: 'Wor',
        last_name: 'Kos',
        connection_id: 'conn_1',
        organization_id: 'org_1',
      },
    },
    profile: {},
    identity: {
      sub: 'prof_1',
      provider_id: 'prof_1',
      name: 'Wor Kos',
      full_name: 'Wor Kos',
      custom_claims: { connection_id: 'conn_1', organization_id: 'org_1' },
      email: 'wo@workos.example',
      email_verified: true,
      phone_verified: false,
    },
  },
]

describe('OAuth 2 providers (contract 8.1)', () => {
  let provider: FakeProvider
  let server: TestServer
  beforeAll(async () => {
    provider = await startFakeProvider()
    const env = cases.map(({ name, env: more }) => providerEnv(name, `${provider.url}/${name}`, more))
    server = await startServer(Object.assign({}, ...env) as Record<string, string>)
  })
  afterAll(async () => {
    await server.close()
    provider.close()
  })

  describe.each(cases)('$name', (test) => {
    const base = `/${test.name}`
    const accept = (): Reply => ({
      body: { access_token: 'the-access-token', refresh_token: 'the-refresh-token', ...test.tokenAnswer },
    })

    function setUp() {
      provider.answer(`POST ${base}${test.token}`, accept())
      for (const [route, reply] of Object.entries(test.profile)) {
        const [method = '', path = ''] = route.split(' ')
        provider.answer(`${method} ${base}${path}`, reply)
      }
    }

    it('is asked for a code with its own scopes and a state of ours', async () => {
      const { answer, location, state } = await depart(server, test.name, {
        ...test.query,
        scopes: 'extra,more extra',
      })
      expect(answer.status).toBe(302)
      expect(`${location.origin}${location.pathname}`).toBe(`${provider.url}${base}${test.authorize}`)
      const { workos_provider: providerName, ...passed } = test.query ?? {}
      expect(Object.fromEntries(location.searchParams)).toEqual({
        client_id: CLIENT_ID,
        redirect_uri: CALLBACK,
        response_type: 'code',
        state,
        scope: [...(test.scope ? [test.scope] : []), 'extra more'].join(' '),
        ...passed,
        ...(providerName ? { provider: providerName } : {}),
      })
      expect(isUuid(state)).toBe(true)
      expect(answer.headers.get('set-cookie')).toBeNull()
    })

    it('redeems the code its way and maps the profile', async () => {
      setUp()
      const { state } = await depart(server, test.name, test.query)
      const target = targetOf(await comeBack(server, { code: 'the-code', state }))
      const { form, headers } = provider.last(`POST ${base}${test.token}`)
      expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
      expect(headers['accept']).toBe('application/json')
      expect(form).toMatchObject({
        grant_type: 'authorization_code',
        code: 'the-code',
        redirect_uri: CALLBACK,
      })
      const credentials = [CLIENT_ID, CLIENT_SECRET].map(encodeURIComponent).join(':')
      if (test.basic) {
        expect(headers['authorization']).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`)
        expect(form).not.toHaveProperty('client_secret')
      } else {
        expect(headers['authorization']).toBeUndefined()
        expect(form).toMatchObject({ client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
      }
      for (const route of Object.keys(test.profile))
        expect(provider.last(route.replace(' ', ` ${base}`)).headers['authorization']).toBe(
          'Bearer the-access-token',
        )
      test.check?.(provider, base)

      if (test.refused) {
        expect(target.fragment).toMatchObject({
          error: 'access_denied',
          error_code: 'provider_email_needs_verification',
        })
        const { rows } = await server.context.db.query<{ identity_data: Json }>(
          'select identity_data from identities where provider = $1',
          [test.name],
        )
        expect(rows[0]?.identity_data).toEqual(test.identity)
        return
      }
      expect(target.fragment).toMatchObject({
        provider: test.name,
        provider_token: 'the-access-token',
        provider_refresh_token: 'the-refresh-token',
        token_type: 'bearer',
        expires_in: '3600',
        sb: '',
      })
      const user = await userOf(server, target)
      expect(user['identities']).toEqual([
        expect.objectContaining({ provider: test.name, identity_data: test.identity }),
      ])
      expect(user['app_metadata']).toEqual({ provider: test.name, providers: [test.name] })
    })

    it('takes a form-encoded token answer, and the other way to authenticate after a 401', async () => {
      setUp()
      provider.answer(`POST ${base}${test.token}`, ({ headers }) => {
        const isBasic = headers['authorization'] !== undefined
        if (isBasic === Boolean(test.basic)) return { status: 401, body: { error: 'invalid_client' } }
        if (test.tokenAnswer) return accept()
        return { body: 'access_token=the-access-token&token_type=bearer' }
      })
      const { state } = await depart(server, test.name, test.query)
      const { fragment } = targetOf(await comeBack(server, { code: 'the-code', state }))
      if (!test.refused) expect(fragment).toMatchObject({ provider_token: 'the-access-token' })
      else expect(fragment['error_code']).toBe('provider_email_needs_verification')
    })

    const profileRoutes = Object.keys(test.profile).map((route) => route.replace(' ', ` ${base}`))
    const failures: [string, string, Reply][] = [
      ['refuses the code', `POST ${base}${test.token}`, { status: 400, body: { error: 'invalid_grant' } }],
      [
        'refuses the code with status 200',
        `POST ${base}${test.token}`,
        { body: { error: 'bad_verification_code' } },
      ],
      ['gives no access token', `POST ${base}${test.token}`, { body: {} }],
      ['breaks the token call', `POST ${base}${test.token}`, 'break'],
      ...profileRoutes.flatMap((route): [string, string, Reply][] => [
        [`refuses ${route}`, route, { status: 403, body: { message: 'no' } }],
        [`answers ${route} with a page`, route, { body: '<html>' }],
        [`breaks ${route}`, route, 'break'],
      ]),
      ...profileRoutes
        .slice(0, 1)
        .map((route): [string, string, Reply] => [`names nobody in ${route}`, route, json({})]),
    ]

    it.each(failures)('ends in an error on the site when it %s', async (_name, route, reply) => {
      setUp()
      provider.answer(route, reply)
      const { state } = await depart(server, test.name, test.query)
      const answer = await comeBack(server, { code: 'the-code', state })
      expect(answer.status).toBe(302)
      const { base: site, query, fragment } = targetOf(answer)
      expect(site).toBe('https://app.example.com/')
      expect(query).toMatchObject({ error: 'server_error', error_code: 'unexpected_failure' })
      expect(fragment).toMatchObject({ ...query, sb: '' })
      expect(JSON.stringify(query)).not.toMatch(/127\.0\.0\.1|the-access-token/)
    })
  })

  it('discord: an account without picture gets the default one of its discriminator', async () => {
    provider.answer('POST /discord/api/oauth2/token', json({ access_token: 't' }))
    const user = { id: 'd2', username: 'x', discriminator: '7', verified: true, email: 'd2@discord.example' }
    provider.answer('GET /discord/api/users/@me', json(user))
    const { state } = await depart(server, 'discord')
    const target = targetOf(await comeBack(server, { code: 'c', state }))
    const { user_metadata: metadata } = (await userOf(server, target)) as { user_metadata: Json }
    expect(metadata['avatar_url']).toBe('https://cdn.discordapp.com/embed/avatars/2.png')
  })

  it('twitch: empty data is a failure', async () => {
    provider.answer('POST /twitch/oauth2/token', json({ access_token: 't' }))
    provider.answer('GET /twitch/helix/users', json({ data: [] }))
    const { state } = await depart(server, 'twitch')
    expect(targetOf(await comeBack(server, { code: 'c', state })).query['error_code']).toBe(
      'unexpected_failure',
    )
  })

  it('workos: the caller must say which of its providers', async () => {
    const { answer } = await depart(server, 'workos')
    expect([answer.status, answer.body['error_code']]).toEqual([400, 'validation_failed'])
  })

  it.each(['github', 'figma'])(
    '%s without an address ends in an error, unless that is allowed',
    async (name) => {
      const [token, me] =
        name === 'github' ? ['/login/oauth/access_token', '/api/v3/user'] : ['/v1/oauth/token', '/v1/me']
      provider.answer(`POST /${name}${token}`, json({ access_token: 't' }))
      provider.answer(`GET /${name}${me}`, json({ id: 'no-email' }))
      provider.answer(`GET /${name}/api/v3/user/emails`, json([]))
      const { state } = await depart(server, name)
      const { query } = targetOf(await comeBack(server, { code: 'c', state }))
      expect(query).toMatchObject({
        error_code: 'unexpected_failure',
        error_description: 'Error getting user email from external provider',
      })
    },
  )
})
