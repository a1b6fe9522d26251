import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, get, post, UUID, type Json } from './support/api.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from './support/passkeys.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer(PASSKEY_ENVIRONMENT)
})
afterAll(() => server.close())
const { startRegistration, finishRegistration, register, startSignIn, finishSignIn, trySignIn, signIn } =
  passkeySteps(() => server)

const FAILED = [400, 'webauthn_verification_failed'] as const
const handleOf = (user: { user: { id: string } }) =>
  Buffer.from(user.user.id.replaceAll('-', ''), 'hex').toString('base64url')

async function aPasskey() {
  const user = await aUser(server)
  const authenticator = anAuthenticator()
  return { user, authenticator, passkey: await register(user, authenticator) }
}

const reasonsOf = async (user: { user: { id: string } }) => {
  const { text } = await get(server, '/admin/audit?query=action:login_failed', { token: serviceToken() })
  return (JSON.parse(text) as { payload: { actor_id: string; traits: Json } }[])
    .filter(({ payload }) => payload.actor_id === user.user.id)
    .map(({ payload }) => payload.traits['reason'])
}

/** How phishing pages, other sites and tampering change an answer. */
const LIES = [
  ['another origin', { origin: 'https://app.example.com.evil.example' }],
  ['a subdomain that is not listed', { origin: 'https://evil.app.example.com' }],
  ['http', { origin: 'http://app.example.com' }],
  ['another port', { origin: 'https://app.example.com:8443' }],
  ['a frame of another site', { crossOrigin: true }],
  ['another relying party', { rpId: 'evil.example' }],
  ['the parent domain', { rpId: 'example.com' }],
  ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
  ['nobody present', { userPresent: false }],
] as const

describe('an answer to a sign-in', () => {
  it.each([...LIES, ['the other ceremony', { type: 'webauthn.create' }]] as const)(
    'is refused for %s',
    async (_, lies) => {
      const { user, authenticator } = await aPasskey()
      expectError(await trySignIn(authenticator, lies), ...FAILED)
      expect(await reasonsOf(user)).toEqual(['wrong_answer'])
      await signIn(authenticator)
    },
  )

  it('is good once, even if it arrives many times at the same moment', async () => {
    const { user } = await aPasskey()
    // This authenticator has no counter, so only the challenge prevents reuse.
    const authenticator = anAuthenticator({ counts: false })
    await register(user, authenticator)
    const asked = await startSignIn()
    const credential = authenticator.get(asked.options)
    const answers = await Promise.all(Array.from({ length: 8 }, () => finishSignIn(asked, credential)))
    const won = answers.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    for (const answer of answers)
      if (answer.status !== 200) expectError(answer, 400, 'webauthn_challenge_not_found')
    expectError(await finishSignIn(asked, credential), 400, 'webauthn_challenge_not_found')
  })

  it('that is wrong leaves the challenge valid for its owner', async () => {
    const { authenticator } = await aPasskey()
    const stranger = await aPasskey()
    const asked = await startSignIn()
    for (const credential of [
      authenticator.get(asked.options, { rpId: 'evil.example' }),
      stranger.authenticator.get(asked.options, { userHandle: handleOf(await aUser(server)) }),
      anAuthenticator().create((await startRegistration(stranger.user)).options),
    ])
      expectError(await finishSignIn(asked, credential), ...FAILED)
    expect((await finishSignIn(asked, authenticator.get(asked.options))).status).toBe(200)
  })

  it('comes in time, to a challenge that was issued', async () => {
    const { authenticator } = await aPasskey()
    const asked = await startSignIn()
    const credential = authenticator.get(asked.options)
    server.clock.advance(300_000)
    expectError(await finishSignIn(asked, credential), 400, 'webauthn_challenge_expired')
    for (const id of [UUID, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-8fff-8fff-ffffffffffff'])
      expectError(await finishSignIn({ challenge_id: id }, credential), 400, 'webauthn_challenge_not_found')
    expectError(await finishSignIn({ challenge_id: 'x' }, credential), 400, 'validation_failed')
    expectError(
      await post(server, '/passkeys/authentication/verify', { credential }),
      400,
      'validation_failed',
    )
    expectError(
      await post(server, '/passkeys/authentication/verify', { challenge_id: asked.challenge_id }),
      400,
      'validation_failed',
    )
  })

  it('may go to another server, whose clock is behind the one that issued the challenge', async () => {
    const { authenticator, user } = await aPasskey()
    const asked = await startSignIn()
    server.clock.advance(-60_000)
    const answer = await finishSignIn(asked, authenticator.get(asked.options))
    server.clock.advance(60_000)
    expect(answer.body['user']).toMatchObject({ id: user.user.id })
  })

  it('cannot invent an id whose challenge it knows: the bytes are a secret of the server', async () => {
    const { authenticator } = await aPasskey()
    const asked = await startSignIn()
    const other = `${asked.challenge_id.slice(0, -1)}${asked.challenge_id.endsWith('0') ? '1' : '0'}`
    expectError(await finishSignIn({ challenge_id: other }, authenticator.get(asked.options)), ...FAILED)
  })

  it('is refused from a copy of the authenticator, whose counter is behind, and that is on record', async () => {
    const { user, authenticator } = await aPasskey()
    await signIn(authenticator)
    await signIn(authenticator)
    expectError(await trySignIn(authenticator, { signCount: 2 }), ...FAILED)
    expectError(await trySignIn(authenticator, { signCount: 0 }), ...FAILED)
    expect(await reasonsOf(user)).toEqual(['counter_went_back', 'counter_went_back'])
    // The server does not store a counter that it refused.
    await signIn(authenticator)
  })

  it('with one counter is good once, even with many challenges at the same moment', async () => {
    const { authenticator } = await aPasskey()
    const begun = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const asked = await startSignIn()
        return { asked, credential: authenticator.get(asked.options, { signCount: 7 }) }
      }),
    )
    const answers = await Promise.all(begun.map(({ asked, credential }) => finishSignIn(asked, credential)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it('may come from an authenticator that never counts', async () => {
    const user = await aUser(server)
    const authenticator = anAuthenticator({ counts: false })
    await register(user, authenticator)
    await signIn(authenticator)
    await signIn(authenticator)
  })

  it('is refused for a key that nobody registered, no matter which account it claims', async () => {
    const { user } = await aPasskey()
    const foreign = anAuthenticator()
    const asked = await startRegistration(user)
    foreign.create(asked.options)
    expectError(await trySignIn(foreign), ...FAILED)
  })

  it('is refused with the id of a passkey and the signature of another key', async () => {
    const { user, authenticator } = await aPasskey()
    const foreign = anAuthenticator()
    foreign.create((await startRegistration(user)).options)
    const { id } = authenticator.get({ challenge: '' })
    expectError(await trySignIn(foreign, { credentialId: id }), ...FAILED)
    expect(await reasonsOf(user)).toEqual(['wrong_answer'])
  })

  it('is refused with the handle of another account, or none', async () => {
    const { authenticator } = await aPasskey()
    const victim = await aPasskey()
    expectError(await trySignIn(authenticator, { userHandle: handleOf(victim.user) }), ...FAILED)
    expectError(await trySignIn(authenticator, { userHandle: '' }), ...FAILED)
  })

  it.each([
    ['nothing', {}],
    ['numbers', { id: 1, rawId: 1, type: 1, response: 1 }],
    ['null', { id: null, response: null }],
    [
      'text that is not base64url',
      { id: '!', rawId: '!', type: 'public-key', response: { clientDataJSON: '!' } },
    ],
    ['lists', { id: [], rawId: [], response: [] }],
  ])('made of %s is refused like any other', async (_, credential) => {
    expectError(await finishSignIn(await startSignIn(), credential), ...FAILED)
  })
})

describe('an answer to a registration', () => {
  it.each([...LIES, ['the other ceremony', { type: 'webauthn.get' }]] as const)(
    'is refused for %s',
    async (_, lies) => {
      const user = await aUser(server)
      const asked = await startRegistration(user)
      expectError(
        await finishRegistration(user, asked, anAuthenticator().create(asked.options, lies)),
        ...FAILED,
      )
    },
  )

  it('belongs to the user and the session that asked', async () => {
    const user = await aUser(server)
    const other = await aUser(server)
    const again = await post(server, '/token?grant_type=password', {
      email: user.email,
      password: user.password,
    })
    for (const thief of [other, again.body as { access_token: string }]) {
      const asked = await startRegistration(user)
      expectError(await finishRegistration(thief, asked, anAuthenticator().create(asked.options)), ...FAILED)
      // Their attempt does not use up the challenge either.
      const own = await finishRegistration(user, asked, anAuthenticator().create(asked.options))
      expect(own.status).toBe(200)
    }
  })

  it('takes no challenge of a sign-in', async () => {
    const user = await aUser(server)
    const { options } = await startRegistration(user)
    const asked = await startSignIn()
    const credential = anAuthenticator().create({ ...options, challenge: asked.options.challenge })
    expectError(await finishRegistration(user, asked, credential), ...FAILED)
  })

  it('is good once, even if it arrives many times at the same moment', async () => {
    const user = await aUser(server)
    const asked = await startRegistration(user)
    const credential = anAuthenticator().create(asked.options)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => finishRegistration(user, asked, credential)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers)
      if (answer.status !== 200) expectError(answer, 400, 'webauthn_challenge_not_found')
  })

  it('cannot take over the key of another account', async () => {
    const { user: victim, authenticator } = await aPasskey()
    const { id } = authenticator.get({ challenge: '' })
    const thief = await aUser(server)
    const asked = await startRegistration(thief)
    const credential = anAuthenticator().create(asked.options, { credentialId: id })
    expectError(await finishRegistration(thief, asked, credential), 422, 'webauthn_credential_exists')
    expect((await signIn(authenticator)).user.id).toBe(victim.user.id)
  })

  it('has its attestation dropped unread, with the certificates and addresses in it', async () => {
    const user = await aUser(server)
    const asked = await startRegistration(user)
    const attestation = {
      fmt: 'packed',
      attStmt: new Map<string, string | number | readonly Uint8Array[]>([
        ['alg', -7],
        ['x5c', [Buffer.from('no certificate')]],
      ]),
    }
    const credential = anAuthenticator().create(asked.options, { attestation })
    expect((await finishRegistration(user, asked, credential)).status).toBe(200)
  })

  it.each([
    [1023, 200],
    [1024, 400],
  ])('with an id of %i bytes: %i (Web Authentication, section 7.1)', async (bytes, status) => {
    const user = await aUser(server)
    const asked = await startRegistration(user)
    const credentialId = Buffer.alloc(bytes, bytes).toString('base64url')
    const answer = await finishRegistration(
      user,
      asked,
      anAuthenticator().create(asked.options, { credentialId }),
    )
    expect(answer.status).toBe(status)
  })

  it('is refused where the id in the answer is not the one that the authenticator names', async () => {
    const user = await aUser(server)
    const asked = await startRegistration(user)
    const credential = anAuthenticator().create(asked.options)
    const id = Buffer.alloc(32).toString('base64url')
    expectError(await finishRegistration(user, asked, { ...credential, id, rawId: id }), ...FAILED)
  })
})

describe('limits', () => {
  it('hold for sign-ins and registrations of one client, each by itself', async () => {
    const strict = await startServer({
      ...PASSKEY_ENVIRONMENT,
      AUTH_RATE_LIMIT_PASSKEY: '1',
      AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '1',
    })
    try {
      const { access_token: token } = await aUser(strict)
      const headers = { 'X-Forwarded-For': '203.0.113.9' }
      const signIn = () =>
        post(strict, '/passkeys/authentication/verify', { challenge_id: UUID, credential: {} }, { headers })
      const register = () => post(strict, '/passkeys/registration/options', {}, { headers, token })
      for (let n = 0; n < 30; n += 1) expectError(await signIn(), 400, 'webauthn_challenge_not_found')
      expectError(await signIn(), 429, 'over_request_rate_limit')
      for (let n = 0; n < 30; n += 1) expect((await register()).status).toBe(200)
      expectError(await register(), 429, 'over_request_rate_limit')
    } finally {
      await strict.close()
    }
  })
})
