import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, SignJWT } from 'jose'
import { definitions } from '../../src/providers/definitions/index.js'
import type { ProviderDefinition } from '../../src/providers/model/provider.js'
import { type ApiAnswer, anEmail, get, post, type Json } from '../support/api.js'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  comeBack,
  cookieFor,
  depart,
  providerEnv,
  targetOf,
  userOf,
} from '../support/fake-provider.js'
import { APP, browse, startOidcServer, type BackFrom, type OidcServer } from '../support/oidc-server.js'
import { startServer, type TestServer } from '../support/server.js'
import { rowOf, vendors, type Vendor } from './rows-of-open-id.js'

let server: TestServer
let now = () => new Date()
const at = {} as Record<Vendor, OidcServer>

/** A client secret as Apple requires it: a JWT with ES256 that is valid for at most six months. */
function appleSecret(): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid: 'KEYID' })
    .setIssuer('TEAMID')
    .setAudience('https://appleid.apple.com')
    .setSubject(CLIENT_ID)
    .setIssuedAt()
    .setExpirationTime('180d')
    .sign(privateKey)
}

let secretOfApple: string
beforeAll(async () => {
  secretOfApple = await appleSecret()
  for (const vendor of vendors) {
    at[vendor] = await startOidcServer({
      ...rowOf(vendor).layout,
      ...(vendor === 'apple' ? { secret: secretOfApple } : {}),
    })
  }
  const env = vendors.map((vendor) =>
    providerEnv(vendor, `${at[vendor].origin}${rowOf(vendor).base ?? ''}`, {
      CLIENT_ID: `${CLIENT_ID},${APP.id}`,
      ...(vendor === 'apple' ? { SECRET: secretOfApple } : {}),
    }),
  )
  server = await startServer(Object.assign({}, ...env) as Record<string, string>, { now: () => now() })
})
afterAll(async () => {
  await server.close()
  for (const vendor of vendors) at[vendor].close()
})

function returnTo({ method, parameters }: BackFrom): Promise<ApiAnswer> {
  if (method === 'GET') return comeBack(server, parameters)
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    ...cookieFor(parameters['state']),
  }
  return post(server, '/callback', String(new URLSearchParams(parameters)), { headers })
}

async function signIn(vendor: Vendor, query: Record<string, string> = {}, more: Record<string, string> = {}) {
  const { location } = await depart(server, vendor, query)
  const back = await browse(location)
  return targetOf(await returnTo({ ...back, parameters: { ...back.parameters, ...more } }))
}

describe.each(vendors)('%s, against an OpenID Connect server (docs/specification.md#providers)', (vendor) => {
  const { claims, subjectClaim, identity, hasNoIss, posted } = rowOf(vendor)
  const personal = (sub: string, email: string) => ({
    email,
    ...(subjectClaim ? { [subjectClaim]: sub } : {}),
    ...claims,
  })

  it('signs in with what the signed id token or the userinfo call says', async () => {
    const [sub, email] = [randomUUID(), anEmail()]
    at[vendor].person(sub, personal(sub, email))
    const target = await signIn(vendor, {}, posted)
    expect(target.fragment).toMatchObject({ provider: vendor, token_type: 'bearer' })
    const user = await userOf(server, target)
    expect(user['email']).toBe(email)
    expect((user['identities'] as Json[])[0]?.['identity_data']).toEqual({
      sub,
      provider_id: sub,
      email,
      email_verified: true,
      phone_verified: false,
      ...(hasNoIss ? {} : { iss: at[vendor].issuer }),
      ...identity,
    })
    const { form, authorization } = at[vendor].redeemed.at(-1) ?? { form: {}, authorization: '' }
    expect(authorization).toBeUndefined()
    expect(form).toMatchObject({
      client_id: CLIENT_ID,
      client_secret: vendor === 'apple' ? secretOfApple : CLIENT_SECRET,
    })
  })

  it('ends a PKCE flow in a code for the session', async () => {
    const sub = randomUUID()
    at[vendor].person(sub, personal(sub, anEmail()))
    const verifier = randomUUID() + randomUUID()
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const { query } = await signIn(vendor, { code_challenge, code_challenge_method: 's256' }, posted)
    const body = { auth_code: query['code'], code_verifier: verifier }
    const { status, body: session } = await post(server, '/token?grant_type=pkce', body)
    expect([status, session['provider_token']]).toEqual([200, expect.any(String)])
  })

  it('passes on that the person said no', async () => {
    at[vendor].refuse(true)
    const target = await signIn(vendor)
    at[vendor].refuse(false)
    expect(target.query).toMatchObject({ error: 'access_denied', error_description: 'The person said no' })
    expect(target.fragment).toMatchObject(target.query)
  })

  it('asks for the key set once, not for each sign-in', () => {
    const { asked } = at[vendor]
    const keys = (asked.get('/jwks') ?? 0) + (asked.get('/auth/keys') ?? 0)
    expect(keys).toBe(hasNoIss ? 0 : 1)
  })
})

describe('apple', () => {
  it('gets the ready-made client secret, which tells the vendor who the client is', () => {
    const claims = decodeJwt(at.apple.redeemed.at(-1)?.form['client_secret'] as string)
    expect(claims).toMatchObject({ iss: 'TEAMID', sub: CLIENT_ID, aud: 'https://appleid.apple.com' })
  })

  it('keeps the name of the first consent when a later one comes without it', async () => {
    const sub = randomUUID()
    at.apple.person(sub, { email: anEmail() })
    await signIn('apple', {}, rowOf('apple').posted)
    const user = await userOf(server, await signIn('apple'))
    expect(user['user_metadata']).toMatchObject({ full_name: 'Ap Ple' })
  })
})

describe('id_token grant with tokens of an OpenID Connect server (docs/specification.md#tokens)', () => {
  type Tokens = { id_token: string; access_token: string }

  /** Sends a person to the vendor as an app does that never shows the code to our server. */
  async function goTo(vendor: Vendor, query: Record<string, string>): Promise<Record<string, string>> {
    const authorize = new URL(`${at[vendor].origin}${rowOf(vendor).layout.authorize}`)
    const own = { client_id: APP.id, redirect_uri: APP.callback, scope: 'openid email profile', ...query }
    for (const [name, value] of Object.entries(own)) authorize.searchParams.set(name, value)
    return (await browse(authorize, APP.callback)).parameters
  }

  async function tokensOf(vendor: Vendor, query: Record<string, string> = {}): Promise<Tokens> {
    const { code = '' } = await goTo(vendor, { response_type: 'code', ...query })
    const response = await fetch(`${at[vendor].origin}${rowOf(vendor).layout.token}`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: APP.callback,
        client_id: APP.id,
        client_secret: APP.secret,
      }),
    })
    return (await response.json()) as Tokens
  }
  const grant = (body: Json) => post(server, '/token?grant_type=id_token', body)
  const nativeVendors = vendors.filter((vendor) => {
    const { openId }: ProviderDefinition = definitions[vendor]
    return openId?.idTokenGrant
  })

  it.each(nativeVendors)(
    '%s: takes the token of the app, whose client id is second in the list',
    async (vendor) => {
      const [sub, email] = [randomUUID(), anEmail()]
      at[vendor].person(sub, { ...rowOf(vendor).claims, email })
      const nonce = randomUUID()
      const hashed = createHash('sha256').update(nonce).digest('hex')
      const { id_token, access_token } = await tokensOf(vendor, { nonce: hashed })
      const { status, body } = await grant({ provider: vendor, id_token, access_token, nonce })
      expect(status).toBe(200)
      expect(body).toMatchObject({ user: { email, app_metadata: { provider: vendor } } })
      const { body: user } = await get(server, '/user', { token: String(body['access_token']) })
      expect(user['id']).toBe((body['user'] as Json)['id'])
    },
  )

  it('is the same user as through the redirect', async () => {
    const sub = randomUUID()
    at.google.person(sub, { email: anEmail(), email_verified: true })
    const redirected = await userOf(server, await signIn('google'))
    const { id_token } = await tokensOf('google')
    const { body } = await grant({ provider: 'google', id_token })
    expect((body['user'] as Json)['id']).toBe(redirected['id'])
  })

  it('holds the access token to the hash in the id token', async () => {
    at.google.person(randomUUID(), { email: anEmail(), email_verified: true })
    const nonce = randomUUID()
    const hashed = createHash('sha256').update(nonce).digest('hex')
    const go = () => goTo('google', { response_type: 'id_token token', nonce: hashed })
    const [{ id_token = '', access_token }, { access_token: other }] = [await go(), await go()]
    expect(decodeJwt(id_token)).toHaveProperty('at_hash')
    const ask = (token: string | undefined) =>
      grant({ provider: 'google', nonce, id_token, access_token: token })
    expect((await ask(other)).body).toMatchObject({
      error: 'invalid request',
      error_description: 'Bad ID token',
    })
    expect((await ask(access_token)).status).toBe(200)
  })

  it('refuses a token of one vendor in the name of another, and a token that is over', async () => {
    at.keycloak.person(randomUUID(), { email: anEmail(), email_verified: true })
    const { id_token } = await tokensOf('keycloak')
    expect((await grant({ provider: 'google', id_token })).body).toMatchObject({
      error_description: 'Unacceptable issuer in id_token',
    })
    expect((await grant({ provider: 'keycloak', id_token })).status).toBe(200)
    now = () => new Date(Date.now() + 24 * 3_600_000)
    const late = await grant({ provider: 'keycloak', id_token })
    now = () => new Date()
    expect(late.body).toMatchObject({ error: 'invalid request', error_description: 'Bad ID token' })
  })
})
