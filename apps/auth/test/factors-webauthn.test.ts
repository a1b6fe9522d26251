import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { SoftwareAuthenticator } from '@signet/testkit'
import { aUser, expectError, post, type ApiAnswer, type Json, type Session } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps, methodsOf } from './support/factors.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from './support/passkeys.js'
import { SITE, startServer, type TestServer } from './support/server.js'

type Bearer = { access_token: string }
type CreationOptions = Parameters<SoftwareAuthenticator['create']>[0]
type RequestOptions = Parameters<SoftwareAuthenticator['get']>[0]
type Challenge = Json & {
  id: string
  webauthn: { type: string; credential_options: { publicKey: Json & CreationOptions & RequestOptions } }
}

let server: TestServer
beforeAll(async () => {
  server = await startServer({ ...FACTOR_ENVIRONMENT, ...PASSKEY_ENVIRONMENT })
})
afterAll(() => server.close())
const { unenroll, factorsOf, signIn, refresh, raise, enroll: enrollTotp } = factorSteps(() => server)
const passkeys = passkeySteps(() => server)

async function enroll({ access_token: token }: Bearer, friendly_name = ''): Promise<string> {
  const answer = await post(server, '/factors', { factor_type: 'webauthn', friendly_name }, { token })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ type: 'webauthn', friendly_name })
  return answer.body['id'] as string
}

async function challenge({ access_token: token }: Bearer, factorId: string): Promise<Challenge> {
  const answer = await post(server, `/factors/${factorId}/challenge`, {}, { token })
  expect(answer.status).toBe(200)
  return answer.body as Challenge
}

const verify = (
  { access_token: token }: Bearer,
  factorId: string,
  { id: challenge_id }: { id: string },
  type: string,
  credential_response: object,
): Promise<ApiAnswer> =>
  post(
    server,
    `/factors/${factorId}/verify`,
    { challenge_id, webauthn: { type, credential_response } },
    { token },
  )

/** Enrolls a factor and verifies it with its key. Returns the factor's id and the session that it raised. */
async function aFactor(user: Bearer, authenticator: SoftwareAuthenticator) {
  const id = await enroll(user)
  const asked = await challenge(user, id)
  const made = authenticator.create(asked.webauthn.credential_options.publicKey)
  const answer = await verify(user, id, asked, 'create', made)
  expect(answer.status).toBe(200)
  return { id, session: answer.body as Session }
}

/** Answers a new challenge of a verified factor. */
async function answerTo(
  user: Bearer,
  factorId: string,
  authenticator: SoftwareAuthenticator,
  lies: Parameters<SoftwareAuthenticator['get']>[1] = {},
): Promise<ApiAnswer> {
  const asked = await challenge(user, factorId)
  const signed = authenticator.get(asked.webauthn.credential_options.publicKey, lies)
  return verify(user, factorId, asked, 'request', signed)
}

const FAILED = [422, 'mfa_verification_failed'] as const

describe('a security key as second factor', () => {
  it('is asked for a key first, which raises the session', async () => {
    const user = await aUser(server)
    const id = await enroll(user, 'blue key')
    const asked = await challenge(user, id)
    expect(asked).toMatchObject({
      type: 'webauthn',
      expires_at: Math.floor(server.clock.now().getTime() / 1000) + 300,
      webauthn: {
        type: 'create',
        credential_options: {
          publicKey: {
            rp: { id: new URL(SITE).hostname },
            authenticatorSelection: { residentKey: 'discouraged' },
          },
        },
      },
    })
    const made = anAuthenticator().create(asked.webauthn.credential_options.publicKey)
    const { body } = await verify(user, id, asked, 'create', made)
    const session = body as Session
    expect(decodeJwt(session.access_token)).toMatchObject({ aal: 'aal2' })
    expect(methodsOf(session.access_token)).toEqual(['mfa/webauthn', 'password'])
    expect(await factorsOf(session)).toMatchObject([
      { id, factor_type: 'webauthn', status: 'verified', friendly_name: 'blue key' },
    ])
  })

  it('is asked for a signature afterwards, by that key alone', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator({ userVerified: false })
    const { id } = await aFactor(user, authenticator)
    const again = await signIn(user)
    expect(decodeJwt(again.access_token)).toMatchObject({ aal: 'aal1' })
    const asked = await challenge(again, id)
    expect(asked.webauthn).toMatchObject({
      type: 'request',
      credential_options: { publicKey: { allowCredentials: [{ type: 'public-key' }] } },
    })
    const answer = await answerTo(again, id, authenticator)
    expect(answer.status).toBe(200)
    expect(decodeJwt(answer.body['access_token'] as string)).toMatchObject({ aal: 'aal2' })
  })

  it('lowers its sessions when it is removed, and the key is gone', async () => {
    const user = await aUser(server)
    const { id, session } = await aFactor(user, anAuthenticator())
    expect((await unenroll(session, id)).status).toBe(200)
    const refreshed = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: session.refresh_token,
    })
    expect(decodeJwt(refreshed.body['access_token'] as string)).toMatchObject({ aal: 'aal1' })
    const { rows } = await server.context.db.query('select 1 from webauthn_credentials where user_id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([])
  })

  it('is off unless settings switch it on', async () => {
    const plain = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    try {
      const { access_token: token } = await aUser(plain)
      expectError(
        await post(plain, '/factors', { factor_type: 'webauthn' }, { token }),
        422,
        'mfa_webauthn_enroll_not_enabled',
      )
    } finally {
      await plain.close()
    }
  })
})

describe('attacks on a security key', () => {
  it('with a key made just now do not answer for the one that is enrolled', async () => {
    const user = await aUser(server)
    const { id } = await aFactor(user, anAuthenticator())
    const thief = await signIn(user)
    const asked = await challenge(thief, id)
    const { challenge: bytes } = asked.webauthn.credential_options.publicKey
    const made = anAuthenticator().create({ rp: {}, user: { id: 'AAAA' }, challenge: bytes })
    expectError(await verify(thief, id, asked, 'create', made), 400, 'validation_failed')
    expectError(await verify(thief, id, asked, 'request', made), ...FAILED)
    expectError(
      await post(
        server,
        `/factors/${id}/verify`,
        { challenge_id: asked.id, code: '123456' },
        { token: thief.access_token },
      ),
      400,
      'validation_failed',
    )
  })

  it.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
    ['the other ceremony', { type: 'webauthn.create' }],
    ['a frame of another site', { crossOrigin: true }],
    ['a counter that went back', { signCount: 0 }],
  ])('with %s are refused', async (_, lies) => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const { id } = await aFactor(user, authenticator)
    const again = await signIn(user)
    expect((await answerTo(again, id, authenticator)).status).toBe(200)
    expectError(await answerTo(await signIn(user), id, authenticator, lies), ...FAILED)
  })

  it('with the key of somebody else are refused', async () => {
    const user = await aUser(server)
    const { id } = await aFactor(user, anAuthenticator())
    const thief = anAuthenticator()
    const own = await aUser(server)
    await aFactor(own, thief)
    const asked = await challenge(await signIn(user), id)
    const signed = thief.get({ challenge: asked.webauthn.credential_options.publicKey.challenge })
    expectError(await verify(await signIn(user), id, asked, 'request', signed), ...FAILED)
  })

  it('with the same answer many times raise one session once', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator({ counts: false })
    const { id } = await aFactor(user, authenticator)
    const again = await signIn(user)
    const asked = await challenge(again, id)
    const signed = authenticator.get(asked.webauthn.credential_options.publicKey)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => verify(again, id, asked, 'request', signed)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers)
      if (answer.status !== 200) expectError(answer, 422, 'mfa_ip_address_mismatch')
  })

  it('with a factor as a passkey do not sign in, nor a passkey as a factor', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator()
    const { id, session } = await aFactor(user, authenticator)
    expectError(await passkeys.trySignIn(authenticator), 400, 'webauthn_verification_failed')
    const passkey = anAuthenticator()
    await passkeys.register(session, passkey)
    const asked = await challenge(await signIn(user), id)
    const signed = passkey.get({ challenge: asked.webauthn.credential_options.publicKey.challenge })
    expectError(await verify(await signIn(user), id, asked, 'request', signed), ...FAILED)
  })

  it('with a stolen key that asks for nothing do not use it as both factors', async () => {
    const user = await aUser(server)
    const key = anAuthenticator({ userVerified: false })
    await passkeys.register(user, key)
    const { id } = await aFactor(user, key)
    const stolen = await passkeys.trySignIn(key)
    // If a request names no credential, the newest key answers, and that is the factor's.
    expectError(stolen, 400, 'webauthn_verification_failed')
    const passkey = anAuthenticator({ userVerified: false })
    await passkeys.register((await answerTo(await signIn(user), id, key)).body as Session, passkey)
    const thief = (await passkeys.trySignIn(passkey)).body as Session
    expect(decodeJwt(thief.access_token)).toMatchObject({ aal: 'aal1' })
    expectError(await answerTo(thief, id, key), ...FAILED)
    const owner = await answerTo(thief, id, key, { userVerified: true })
    expect(decodeJwt(owner.body['access_token'] as string)).toMatchObject({ aal: 'aal2' })
  })
})

describe('a session that showed several factors', () => {
  it('loses the proof with the removed one, and keeps the other and its level', async () => {
    const user = await aUser(server)
    const key = anAuthenticator()
    const { id, session } = await aFactor(user, key)
    const totp = await enrollTotp(session, { friendly_name: 'app' })
    const strong = await raise(session, totp)
    const { body } = await answerTo(await signIn(user), id, key)
    const both = await raise(body as Session, totp)
    expect(methodsOf(both.access_token)).toEqual(['totp', 'mfa/webauthn', 'password'])
    expect((await unenroll(strong, id)).status).toBe(200)
    const { access_token: jwt } = (await refresh(both.refresh_token)).body as Session
    expect(decodeJwt(jwt)).toMatchObject({ aal: 'aal2' })
    expect(methodsOf(jwt)).toEqual(['totp', 'password'])
  })
})
