import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import { anEmail, aPhone } from '../support/api.js'
import {
  CLIENT_ID,
  comeBack,
  departTo,
  providerEnv,
  startFakeProvider,
  targetOf,
  type FakeProvider,
} from '../support/fake-provider.js'
import { confirmLink } from '../support/provider-site.js'
import { SITE, type TestServer } from '../support/server.js'
import { aClient, aSignedInClient, ok, startClientServer } from './support.js'

const PHONE = aPhone()

describe('the published client signs in through providers', () => {
  let provider: FakeProvider
  let server: TestServer
  let key: CryptoKey
  beforeAll(async () => {
    const pair = await generateKeyPair('RS256')
    key = pair.privateKey
    const tokens = { access_token: 'the-token', refresh_token: 'the-refresh-token' }
    provider = await startFakeProvider({
      'POST /login/oauth/access_token': { body: tokens },
      'POST /v1/oauth/token': { body: tokens },
      'GET /keys': { body: { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'RS256' }] } },
    })
    provider.answer('GET /.well-known/openid-configuration', {
      body: { issuer: provider.url, jwks_uri: `${provider.url}/keys` },
    })
    server = await startClientServer({
      ...providerEnv('github', provider.url),
      ...providerEnv('figma', provider.url),
      ...providerEnv('google', provider.url),
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_TEST_OTP: `${PHONE}:123456`,
    })
  })
  afterAll(async () => {
    await server.close()
    await provider.close()
  })

  function anAccount() {
    const account = { id: randomUUID(), email: anEmail() }
    provider.answer('GET /api/v3/user', { body: { id: account.id, login: 'octo' } })
    provider.answer('GET /api/v3/user/emails', {
      body: [{ email: account.email, verified: true, primary: true }],
    })
    provider.answer('GET /v1/me', { body: { id: account.id, email: account.email, handle: 'Fig' } })
    return account
  }

  /** Follows the browser from where the client sends it to where it ends up. */
  async function consent(url: string | null) {
    const { search, pathname } = new URL(url ?? '')
    const path = `${pathname.replace('/auth/v1', '')}${search}`
    // Before it links an account, the server shows a page that asks for consent.
    const { location, state } = path.startsWith('/authorize/confirm')
      ? await confirmLink(server, path)
      : await departTo(server, path)
    return { out: location, target: targetOf(await comeBack(server, { code: 'c', state })) }
  }

  const idToken = (claims: Record<string, unknown>) =>
    new SignJWT({ sub: randomUUID(), email: anEmail(), email_verified: true, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer(provider.url)
      .setAudience(CLIENT_ID)
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(key)

  it('with PKCE: the code becomes a session with the provider tokens', async () => {
    const { email } = anAccount()
    const client = aClient(server, { flowType: 'pkce' })
    const { url } = await ok(
      client.signInWithOAuth({
        provider: 'github',
        options: { redirectTo: `${SITE}/in`, scopes: 'repo', queryParams: { prompt: 'consent' } },
      }),
    )
    const { out, target } = await consent(url)
    expect(Object.fromEntries(out.searchParams)).toMatchObject({
      scope: 'user:email repo',
      prompt: 'consent',
    })
    expect(target.base).toBe(`${SITE}/in`)
    const { session, user } = await ok(client.exchangeCodeForSession(target.query['code'] ?? ''))
    expect(session).toMatchObject({
      provider_token: 'the-token',
      provider_refresh_token: 'the-refresh-token',
    })
    expect(user).toMatchObject({ email, app_metadata: { provider: 'github' } })
  })

  it('without PKCE: the fragment is a session that works', async () => {
    const { email } = anAccount()
    const client = aClient(server)
    const { url } = await ok(client.signInWithOAuth({ provider: 'github' }))
    const { access_token = '', refresh_token = '' } = (await consent(url)).target.fragment
    const { user } = await ok(client.setSession({ access_token, refresh_token }))
    expect(user).toMatchObject({ email })
    await ok(client.refreshSession())
  })

  it('links and unlinks an identity', async () => {
    const { client } = await aSignedInClient(server)
    anAccount()
    const { url } = await ok(client.linkIdentity({ provider: 'figma' }))
    await consent(url)
    const { identities } = await ok(client.getUserIdentities())
    expect(identities.map(({ provider: name }) => name)).toEqual(['email', 'figma'])
    const figma = identities.find(({ provider: name }) => name === 'figma')
    if (!figma) throw new Error('no identity of figma')
    await ok(client.unlinkIdentity(figma))
    const { identities: left } = await ok(client.getUserIdentities())
    expect(left.map(({ provider: name }) => name)).toEqual(['email'])
  })

  it('signs in with an id token and its nonce, and understands a refusal', async () => {
    const nonce = randomUUID()
    const hashed = createHash('sha256').update(nonce).digest('hex')
    const email = anEmail()
    const token = await idToken({ nonce: hashed, email })
    const { user } = await ok(aClient(server).signInWithIdToken({ provider: 'google', token, nonce }))
    expect(user).toMatchObject({ email, app_metadata: { provider: 'google' } })
    const refused = await aClient(server).signInWithIdToken({ provider: 'google', token, nonce: 'other' })
    expect(refused.error).toMatchObject({ status: 400, message: 'Nonces mismatch' })
  })

  it('links an id token to the user who is signed in', async () => {
    const { client, user } = await aSignedInClient(server)
    const token = await idToken({})
    const linked = await ok(client.linkIdentity({ provider: 'google', token }))
    expect(linked.user?.id).toBe(user.id)
    const { identities } = await ok(client.getUserIdentities())
    expect(identities.map(({ provider: name }) => name)).toEqual(['email', 'google'])
  })

  it('signs in with a code that went to a phone', async () => {
    const client = aClient(server)
    await ok(client.signInWithOtp({ phone: PHONE }))
    // The fixed code reaches no inbox that the test could wait for.
    await server.settled()
    const { user } = await ok(client.verifyOtp({ phone: PHONE, token: '123456', type: 'sms' }))
    expect(user).toMatchObject({ phone: PHONE, app_metadata: { provider: 'phone' } })
  })
})
