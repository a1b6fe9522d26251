import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import { azure } from '../../src/providers/definitions/azure.js'
import { definitions, providers, type Provider } from '../../src/providers/definitions/index.js'
import type { OpenIdRules, ProviderDefinition } from '../../src/providers/model/provider.js'
import { anEmail, aUser, expectError, get, post, type Json } from '../support/api.js'
import {
  CLIENT_ID,
  comeBack,
  cookieFor,
  depart,
  providerEnv,
  startFakeProvider,
  targetOf,
  userOf,
  type FakeProvider,
} from '../support/fake-provider.js'
import { startServer, type TestServer } from '../support/server.js'

type Name = Provider

const openIdOf = (name: Name): OpenIdRules | undefined => {
  const { openId }: ProviderDefinition = definitions[name]
  return openId
}
const NAMES = providers.filter((name) => openIdOf(name) !== undefined)

let provider: FakeProvider
let server: TestServer
let key: CryptoKey
let foreignKey: CryptoKey
let edKey: CryptoKey
const baseOf = (name: Name) => `${provider.url}/${name}`
const issuerOf = (name: Name) => (name === 'azure' ? `${baseOf(name)}/v2.0` : baseOf(name))
const customIssuer = () => `${provider.url}/custom`

beforeAll(async () => {
  const pair = await generateKeyPair('RS256')
  key = pair.privateKey
  foreignKey = (await generateKeyPair('RS256')).privateKey
  provider = await startFakeProvider()
  const ed = await generateKeyPair('EdDSA')
  edKey = ed.privateKey
  const keys = {
    keys: [
      { ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' },
      { ...(await exportJWK(ed.publicKey)), kid: 'ed', alg: 'EdDSA', use: 'sig' },
    ],
  }
  provider.answer('GET /apple/auth/keys', { body: keys })
  provider.answer('GET /keys', { body: keys })
  for (const issuer of [...NAMES.map(issuerOf), customIssuer()])
    provider.answer(`GET ${new URL(issuer).pathname}/.well-known/openid-configuration`, {
      body: { issuer, jwks_uri: `${provider.url}/keys` },
    })
  const env = NAMES.map((name) =>
    providerEnv(name, baseOf(name), name === 'snapchat' ? { SKIP_NONCE_CHECK: 'true' } : {}),
  )
  server = await startServer({
    ...(Object.assign({}, ...env) as Record<string, string>),
    AUTH_EXTERNAL_IOS_BUNDLE_ID: 'com.example.ios',
    AUTH_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS: customIssuer(),
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  })
})
afterAll(async () => {
  await server.close()
  await provider.close()
})

function idToken(
  issuer: string,
  claims: Json = {},
  { audience = CLIENT_ID, by = key, alg = 'RS256', kid = 'k1' } = {},
): Promise<string> {
  const seconds = Math.floor(server.clock.now().getTime() / 1000)
  return new SignJWT({ sub: randomUUID(), email: anEmail(), email_verified: true, name: 'Ann', ...claims })
    .setProtectedHeader({ alg, kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + (typeof claims['life'] === 'number' ? claims['life'] : 600))
    .sign(by)
}
const grant = (body: Json, token?: string) => post(server, '/token?grant_type=id_token', body, { token })

describe('id_token grant (docs/specification.md#tokens)', () => {
  it.each(['sub', 'name', 'email', 'picture'])(
    'refuses text that no database stores, as %s',
    async (claim) => {
      const id_token = await idToken(issuerOf('google'), { [claim]: 'a\0b@example.com' })
      const { status } = await grant({ provider: 'google', id_token })
      expect(status).toBe(400)
    },
  )

  it.each(NAMES.filter((name) => openIdOf(name)?.idTokenGrant))(
    '%s: signs in, by provider or by issuer',
    async (name) => {
      const verified = name === 'azure' ? { xms_edov: true } : {}
      const claims = { sub: randomUUID(), email: anEmail(), ...verified }
      const { status, body } = await grant({
        provider: name,
        id_token: await idToken(issuerOf(name), claims),
      })
      expect(status).toBe(200)
      expect(body['user']).toMatchObject({
        email: claims.email,
        identities: [
          { provider: name, id: claims.sub, identity_data: { iss: issuerOf(name), email_verified: true } },
        ],
      })
      const issuer = {
        issuer: issuerOf(name),
        client_id: 'ignored',
        id_token: await idToken(issuerOf(name), claims),
      }
      expect(((await grant(issuer)).body['user'] as Json)['id']).toBe((body['user'] as Json)['id'])
    },
  )

  it('google: the issuer may stand without its scheme', async () => {
    const id_token = await idToken(issuerOf('google').replace(/^http:\/\//, ''))
    expect((await grant({ provider: 'google', id_token })).status).toBe(200)
  })

  it.each([
    ['RS256', 'sha256'],
    ['EdDSA', 'sha512'],
  ] as const)('%s: an access token is hashed with %s', async (alg, hash) => {
    const digest = createHash(hash).update('a').digest()
    const at_hash = digest.subarray(0, digest.length / 2).toString('base64url')
    const [by, kid] = alg === 'EdDSA' ? [edKey, 'ed'] : [key, 'k1']
    const id_token = await idToken(issuerOf('google'), { at_hash }, { by, alg, kid })
    expect((await grant({ provider: 'google', access_token: 'a', id_token })).status).toBe(200)
    const other = await grant({ provider: 'google', access_token: 'b', id_token })
    expect(other.body).toMatchObject({ error_description: 'Bad ID token' })
  })

  it.each<[string, () => Promise<Json>]>([
    [
      'the issuer of another provider',
      async () => ({ provider: 'google', id_token: await idToken(issuerOf('apple')) }),
    ],
    [
      'another audience',
      async () => ({
        provider: 'google',
        id_token: await idToken(issuerOf('google'), {}, { audience: 'x' }),
      }),
    ],
    [
      'a foreign signature',
      async () => ({
        provider: 'google',
        id_token: await idToken(issuerOf('google'), {}, { by: foreignKey }),
      }),
    ],
    [
      'an expired token',
      async () => ({ provider: 'google', id_token: await idToken(issuerOf('google'), { life: -60 }) }),
    ],
    [
      'an empty subject',
      async () => ({ provider: 'google', id_token: await idToken(issuerOf('google'), { sub: '' }) }),
    ],
    [
      'a subject that is too long',
      async () => ({
        provider: 'google',
        id_token: await idToken(issuerOf('google'), { sub: randomBytes(3000).toString('hex') }),
      }),
    ],
    [
      'another issuer without its scheme',
      async () => ({
        provider: 'facebook',
        id_token: await idToken(issuerOf('facebook').replace(/^http:\/\//, '')),
      }),
    ],
    [
      'the hash of another access token',
      async () => ({
        provider: 'google',
        access_token: 'a',
        id_token: await idToken(issuerOf('google'), { at_hash: 'x' }),
      }),
    ],
    [
      'a nonce in the token only',
      async () => ({ provider: 'google', id_token: await idToken(issuerOf('google'), { nonce: 'n' }) }),
    ],
    [
      'a nonce in the request only',
      async () => ({ provider: 'google', nonce: 'n', id_token: await idToken(issuerOf('google')) }),
    ],
    ['garbage', () => Promise.resolve({ provider: 'google', id_token: 'a.b.c' })],
    ['no token', () => Promise.resolve({ provider: 'google' })],
    ['neither provider nor issuer', () => Promise.resolve({ id_token: 'a.b.c' })],
  ])('refuses %s in the words of OAuth', async (_name, body) => {
    const answer = await grant(await body())
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'invalid request', error_description: expect.any(String) as unknown },
    ])
  })

  it('compares the nonce with its SHA-256 in the token, except for facebook', async () => {
    const nonce = createHash('sha256').update('secret').digest('hex')
    const of = async (name: Name, given: string) =>
      grant({ provider: name, nonce: given, id_token: await idToken(issuerOf(name), { nonce }) })
    expect((await of('google', 'secret')).status).toBe(200)
    expect((await of('google', 'other')).body).toMatchObject({ error: 'invalid nonce' })
    expect((await of('google', nonce)).body).toMatchObject({ error: 'invalid nonce' })
    expect((await of('facebook', 'other')).status).toBe(200)
  })

  it('does not compare nonces where AUTH_EXTERNAL_X_SKIP_NONCE_CHECK says so', async () => {
    const id_token = await idToken(issuerOf('snapchat'), { nonce: 'not the hash of anything' })
    expect((await grant({ provider: 'snapchat', id_token })).status).toBe(200)
  })

  it('refuses a token without address', async () => {
    const id_token = await idToken(issuerOf('google'), { email: undefined })
    expect((await grant({ provider: 'google', id_token })).body).toMatchObject({ error: 'invalid request' })
  })

  it('follows the rules of linking: an unverified address is not let in, a banned user neither', async () => {
    const unverified = await idToken(issuerOf('google'), { email_verified: false })
    expectError(
      await grant({ provider: 'google', id_token: unverified }),
      422,
      'provider_email_needs_verification',
    )
    const owner = await aUser(server)
    const until = "update users set banned_until = '2040-01-01' where id = $1"
    await server.context.db.query(until, [owner.user.id])
    const id_token = await idToken(issuerOf('google'), { email: owner.email })
    expectError(await grant({ provider: 'google', id_token }), 403, 'user_banned')
  })

  it('refuses a provider that is off, by name as by issuer', async () => {
    const off = await startServer({ AUTH_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS: 'https://accounts.google.com' })
    try {
      for (const body of [
        { provider: 'google' },
        { issuer: 'https://accounts.google.com', client_id: 'any' },
      ]) {
        const id_token = await idToken('https://accounts.google.com')
        const answer = await post(off, '/token?grant_type=id_token', { ...body, id_token })
        expectError(answer, 400, 'provider_disabled')
      }
    } finally {
      await off.close()
    }
  })

  it('is a fault of the server when the keys of an issuer cannot be fetched', async () => {
    const discovery = 'GET /facebook/.well-known/openid-configuration'
    for (const reply of [{ status: 500 }, { body: { issuer: 'https://other', jwks_uri: 'https://other' } }]) {
      const fresh = await startServer(providerEnv('facebook', baseOf('facebook')))
      const before = provider.replace(discovery, reply)
      const id_token = await idToken(issuerOf('facebook'))
      const answer = await post(fresh, '/token?grant_type=id_token', { provider: 'facebook', id_token })
      provider.answer(discovery, before)
      await fresh.close()
      expectError(answer, 500, 'unexpected_failure')
    }
  })

  it('apple: accepts the app of the same maker as audience', async () => {
    const token = await idToken(issuerOf('apple'), {}, { audience: 'com.example.ios' })
    expect((await grant({ provider: 'apple', id_token: token })).status).toBe(200)
  })

  it.each([false, 'false'])(
    'apple: an address that Apple did not verify, where email_verified is %j, lets nobody into the account of its owner',
    async (email_verified) => {
      const owner = await aUser(server)
      const id_token = await idToken(issuerOf('apple'), { email: owner.email, email_verified })
      expectError(await grant({ provider: 'apple', id_token }), 422, 'provider_email_needs_verification')
      const { body } = await get(server, '/user', { token: owner.access_token })
      expect((body['identities'] as Json[]).map(({ provider: name }) => name)).toEqual(['email'])
    },
  )

  it('another issuer must be allowed, is held to the named client, and cannot speak for a provider', async () => {
    const token = await idToken(customIssuer(), {}, { audience: 'app-1' })
    const ask = (client_id: string, issuer = customIssuer()) =>
      grant({ provider: 'figma', issuer, client_id, id_token: token })
    expect((await ask('app-2')).body).toMatchObject({ error: 'invalid request' })
    expectError(await ask('app-1', 'https://evil.example'), 400, 'validation_failed')
    const { body } = await ask('app-1')
    expect(body['user']).toMatchObject({ identities: [{ provider: customIssuer() }] })
  })

  it('links to the bearer when asked to', async () => {
    const user = await aUser(server)
    const body = { provider: 'google', link_identity: true, id_token: await idToken(issuerOf('google')) }
    expectError(await grant(body), 401, 'no_authorization')
    expect((await grant(body, user.access_token)).status).toBe(200)
    const { body: shown } = await get(server, '/user', { token: user.access_token })
    expect((shown['identities'] as Json[]).map(({ provider: name }) => name)).toEqual(['email', 'google'])
  })
})

describe('id tokens in the redirect flow (docs/specification.md#providers)', () => {
  async function comeBackWith(
    name: Name,
    claims: Json,
    tokenPath: string,
    form: Record<string, string> = {},
  ) {
    const id_token = await idToken(issuerOf(name), claims)
    provider.answer(`POST /${name}${tokenPath}`, { body: { access_token: 'the-token', id_token } })
    const { state, location } = await depart(server, name)
    if (name !== 'apple') return targetOf(await comeBack(server, { code: 'c', state }))
    expect(location.searchParams.get('response_mode')).toBe('form_post')
    expect(location.href).toContain('scope=email%20name')
    const body = new URLSearchParams({ code: 'c', state, ...form }).toString()
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', ...cookieFor(state) }
    return targetOf(await post(server, '/callback', body, { headers }))
  }

  it('apple: a posted form, with the name of the first consent', async () => {
    const user = JSON.stringify({ name: { firstName: 'Ap', lastName: 'Ple' } })
    const target = await comeBackWith('apple', { is_private_email: 'true' }, '/auth/token', { user })
    const { user_metadata: metadata } = (await userOf(server, target)) as { user_metadata: Json }
    expect(metadata).toMatchObject({ full_name: 'Ap Ple', custom_claims: { is_private_email: 'true' } })
  })

  it.each([
    [undefined, false],
    [true, true],
    ['1', true],
    ['true', true],
    [false, false],
    ['0', false],
  ])('azure: xms_edov %j means verified %s', async (edov, verified) => {
    const target = await comeBackWith(
      'azure',
      edov === undefined ? {} : { xms_edov: edov },
      '/oauth2/v2.0/token',
    )
    expect('access_token' in target.fragment).toBe(verified)
  })

  it.each([
    [undefined, undefined, false],
    [undefined, false, false],
    [undefined, true, true],
    ['https://login.microsoftonline.com/common', undefined, false],
    ['https://login.microsoftonline.com/organizations', undefined, false],
    ['https://login.microsoftonline.com/Common', undefined, false],
    ['https://login.microsoftonline.com/consumers', undefined, false],
    ['https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad', undefined, false],
    ['https://entra.proxy.example/6babcaad-604b-40ac-a9d7-9fd97c0b779f', undefined, false],
    ['https://entra.proxy.example', undefined, false],
    ['https://entra.proxy.example', true, true],
    ['https://login.microsoftonline.com.proxy.example/contoso.onmicrosoft.com', undefined, false],
    ['https://login.microsoftonline.com/contoso.onmicrosoft.com', undefined, true],
    ['https://contoso.ciamlogin.com/6babcaad-604b-40ac-a9d7-9fd97c0b779f', undefined, true],
    ['https://login.microsoftonline.com/6babcaad-604b-40ac-a9d7-9fd97c0b779f', undefined, true],
    ['https://login.microsoftonline.com/6babcaad-604b-40ac-a9d7-9fd97c0b779f', false, false],
  ])('azure: at %s an address with xms_edov %j counts as verified: %s', (baseUrl, edov, verified) => {
    const settings = { ...server.context.providers.settingsOf('azure'), baseUrl }
    const claims = { sub: 'a', email: 'ceo@example.com', ...(edov === undefined ? {} : { xms_edov: edov }) }
    expect(azure.openId?.profile(claims, settings).emails).toMatchObject([{ verified }])
  })

  it('linkedin: claims of the id token', async () => {
    const claims = { given_name: 'Lin', family_name: 'Ked', email_verified: 'true' }
    const target = await comeBackWith('linkedin', claims, '/oauth/v2/accessToken')
    expect((await userOf(server, target))['user_metadata']).toMatchObject({
      name: 'Lin Ked',
      email_verified: true,
    })
  })

  it.each<[string, () => Promise<string>]>([
    ['of another issuer', () => idToken(issuerOf('google'))],
    ['for another client', () => idToken(issuerOf('azure'), {}, { audience: 'other' })],
    ['that is over', () => idToken(issuerOf('azure'), { life: -60 })],
    ['with a foreign signature', () => idToken(issuerOf('azure'), {}, { by: foreignKey })],
    ['that is none', () => Promise.resolve('a.b.c')],
    ['that is missing', () => Promise.resolve('')],
  ])('an id token %s ends in an error', async (_name, token) => {
    const id_token = await token()
    provider.answer('POST /azure/oauth2/v2.0/token', { body: { access_token: 't', id_token } })
    const { state } = await depart(server, 'azure')
    const { query } = targetOf(await comeBack(server, { code: 'c', state }))
    expect(query['error_code']).toBe('unexpected_failure')
  })
})
