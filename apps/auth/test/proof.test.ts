import { describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, expectError, get, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { signInWith } from './support/fake-provider.js'
import {
  admin,
  EMAIL_PROOFS,
  OWNER,
  STRANGER,
  STRANGERS_PASSWORD,
  useProofSite,
} from './support/proof-site.js'
import { anAuthenticator, passkeySteps } from './support/passkeys.js'
import { anId, identitiesOf } from './support/provider-site.js'

const site = useProofSite()
const passkeys = passkeySteps(() => site.server)

/** The sign-ups of a user that still wait for their own proof. */
const pendingOf = async ({ id }: Json) =>
  (await site.server.context.db.query('select origin from pending_sign_ups where user_id = $1', [id])).rows

it.each(['magiclink', 'recovery'])(
  'the data that an administrator gives with a link for %s stays when the proof takes a claimed identity away',
  async (type) => {
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    await signInWith(site.server, 'github')
    const link = { type, email, data: { team: 'a' } }
    const { body } = await post(site.server, '/admin/generate_link', link, admin)
    const proven = await site.verify({ type, token_hash: body['hashed_token'] })
    expect(proven.body['user']).toMatchObject({ user_metadata: { team: 'a' } })
    const user = proven.body['user'] as Json
    expect(user['user_metadata']).not.toHaveProperty('user_name')
    expect(user['identities']).toMatchObject([{ provider: 'email' }])
  },
)

describe.each([
  ['a stranger', STRANGER],
  ['the same person', OWNER],
])('after a sign-up by %s', (_, earlier) => {
  it.each(EMAIL_PROOFS)('%s discards what that sign-up brought', async (proof) => {
    const email = anEmail()
    const { token, code } = await site.secretsOf(email, () => site.signUp({ email }, earlier))
    const user = await site.prove(proof, email)
    expect(user).toMatchObject({ email, email_confirmed_at: expect.any(String) as unknown })
    expect(user['user_metadata']).not.toHaveProperty('from')
    expectError(await site.signIn({ email }, earlier.password), 400, 'invalid_credentials')
    expectError(await post(site.server, '/verify', { type: 'signup', token }), 403, 'otp_expired')
    expectError(
      await post(site.server, '/verify', { type: 'signup', email, token: code }),
      403,
      'otp_expired',
    )
    expect(await site.userRow({ email })).toMatchObject({ encrypted_password: null })
    expect(await pendingOf(user)).toEqual([])
  })

  it.each([
    ['link', ({ token }: Json) => ({ type: 'signup', token_hash: token })],
    ['code', ({ code }: Json, email: string) => ({ type: 'signup', email, token: code })],
  ] as const)('its own %s applies its password and data', async (_name, proofOf) => {
    const email = anEmail()
    const secrets = await site.secretsOf(email, () => site.signUp({ email }, earlier))
    expect(await site.userRow({ email })).toMatchObject({ encrypted_password: null, user_metadata: {} })
    expectError(await site.signIn({ email }, earlier.password), 400, 'email_not_confirmed')
    const { status, body } = await site.verify(proofOf(secrets, email))
    expect(status).toBe(200)
    expect(body['user']).toMatchObject({ user_metadata: { ...earlier.data, email, email_verified: true } })
    expect((await site.signIn({ email }, earlier.password)).status).toBe(200)
  })

  it.each(['an administrator', 'a provider that vouches for it'] as const)(
    '%s also voids links and changes that were requested before',
    async (proof) => {
      const email = anEmail()
      await site.secretsOf(email, () => site.signUp({ email }, earlier))
      const { token } = await site.secretsOf(email, () => post(site.server, '/recover', { email }))
      const change = { type: 'email_change_new', email, new_email: anEmail() }
      expect((await post(site.server, '/admin/generate_link', change, admin)).status).toBe(200)
      expect(await site.prove(proof, email)).not.toHaveProperty('new_email')
      expectError(await site.verify({ type: 'recovery', token_hash: token }), 403, 'otp_expired')
    },
  )
})

describe('an account from a provider that does not vouch for the address', () => {
  const aStrangersAccount = async () => {
    const [id, email] = [anId(), anEmail()]
    site.github(id, { email, verified: false })
    const { fragment } = await signInWith(site.server, 'github')
    const token = fragment['access_token'] ?? ''
    const factor = await post(site.server, '/factors', { factor_type: 'totp' }, { token })
    expect(factor.status).toBe(200)
    await put(site.server, '/user', { data: { from: 'stranger' } }, { token })
    const passkey = anAuthenticator()
    await passkeys.register({ access_token: token }, passkey)
    return { id, email, token, passkey, refreshToken: fragment['refresh_token'] }
  }

  describe.each([
    ['a stranger', STRANGER],
    ['the same person', OWNER],
  ])('and a sign-up by %s', (_, earlier) => {
    it.each(EMAIL_PROOFS)(
      '%s ends its sessions and removes its factors, passkeys, identities and data',
      async (proof) => {
        const { id, email, token, passkey, refreshToken } = await aStrangersAccount()
        // Of several codes for one address, only the newest count, so each needs a different time.
        site.server.clock.advance(1000)
        await site.secretsOf(email, () => site.signUp({ email }, earlier))
        site.server.clock.advance(1000)
        const user = await site.prove(proof, email)
        const isByProvider = proof === 'a provider that vouches for it'
        expect(identitiesOf(user)).toEqual([isByProvider ? 'github' : 'email'])
        expect(user['user_metadata']).not.toHaveProperty('from')
        expect(user).not.toHaveProperty('factors')
        expectError(await site.signIn({ email }, earlier.password), 400, 'invalid_credentials')
        expect(await pendingOf(user)).toEqual([])
        expectError(await passkeys.trySignIn(passkey), 400, 'webauthn_verification_failed')
        const refresh = { refresh_token: refreshToken }
        const refreshed = await post(site.server, '/token?grant_type=refresh_token', refresh)
        expectError(refreshed, 400, 'refresh_token_not_found')
        expect((await get(site.server, '/user', { token })).status).toBe(403)
        site.github(id, { email, verified: false })
        const { fragment } = await signInWith(site.server, 'github')
        const back = await get(site.server, '/user', { token: fragment['access_token'] ?? '' })
        expect(back.body['id']).not.toBe(user['id'])
      },
    )
  })

  it('signs nobody in with a passkey until the address is proven', async () => {
    const { passkey } = await aStrangersAccount()
    expectError(await passkeys.trySignIn(passkey), 403, 'email_not_confirmed')
  })

  it('cannot get a password until the address is proven', async () => {
    const { token } = await aStrangersAccount()
    expectError(
      await put(site.server, '/user', { password: STRANGERS_PASSWORD }, { token }),
      422,
      'email_not_confirmed',
    )
  })

  it('keeps everything when its own confirmation is used', async () => {
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    const { fragment } = await signInWith(site.server, 'github')
    const { token } = await mailTo(site.server, email)
    const { body } = await site.verify({ type: 'signup', token_hash: token })
    expect(identitiesOf(body['user'] as Json)).toEqual(['github'])
    const refresh = { refresh_token: fragment['refresh_token'] }
    expect((await post(site.server, '/token?grant_type=refresh_token', refresh)).status).toBe(200)
  })

  it('loses the unproven address when a phone is proven', async () => {
    const { email, token } = await aStrangersAccount()
    const phone = aPhone()
    await put(site.server, '/user', { phone }, { token })
    const proved = await site.verify({ type: 'phone_change', phone, token: site.gateway.codeFor(phone) })
    expect(proved.body['user']).toMatchObject({ phone, email: '' })
    const { token: own } = await site.secretsOf(email, () => site.signUp({ email }, OWNER))
    const { body } = await site.verify({ type: 'signup', token_hash: own })
    expect((body['user'] as Json)['id']).not.toBe((proved.body['user'] as Json)['id'])
  })
})

describe('an account with an email address and a phone number', () => {
  it('takes nothing from a sign-up with its unproven address if the other one is proven', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    const owner = { email, phone, phone_confirm: true, password: PASSWORD }
    expect((await post(site.server, '/admin/users', owner, admin)).status).toBe(200)
    const { token } = await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const { status, body } = await site.verify({ type: 'signup', token_hash: token })
    expect(status).toBe(200)
    const user = body['user'] as Json
    expect(user).toMatchObject({ email, phone, email_confirmed_at: expect.any(String) as unknown })
    expect(user['user_metadata']).not.toHaveProperty('from')
    expect(await pendingOf(user)).toEqual([])
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
    expect((await site.signIn({ phone }, PASSWORD)).status).toBe(200)
  })

  it('loses the unproven number when a provider vouches for the address', async () => {
    const [email, phone] = [anEmail(), aPhone()]
    expect((await post(site.server, '/admin/users', { email, phone }, admin)).status).toBe(200)
    expect(await site.prove('a provider that vouches for it', email)).toMatchObject({ email, phone: '' })
  })
})

describe('what an administrator enters', () => {
  it('applies however the address is proven, including the password', async () => {
    const email = anEmail()
    await post(site.server, '/admin/users', { email, password: PASSWORD, user_metadata: { a: 1 } }, admin)
    expectError(await site.signIn({ email }, PASSWORD), 400, 'email_not_confirmed')
    await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    const user = await site.prove('a magic link', email)
    expect(user['user_metadata']).toMatchObject({ a: 1 })
    expect((await site.signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it.each(['/invite', '/admin/generate_link'])(
    'is stored by %s exactly as given, and merged on repetition',
    async (path) => {
      const email = anEmail()
      const say = (data: Json) =>
        post(site.server, path, { type: 'signup', email, password: PASSWORD, data }, admin)
      const claims = {
        sub: 'x',
        email: 'x',
        email_verified: true,
        phone: '1',
        phone_verified: true,
        iss: 'x',
      }
      expect((await say({ status: 'alpha', ...claims })).body['user_metadata']).toEqual({ status: 'alpha' })
      const again = await say({ plan: 'pro' })
      expect(again.body['user_metadata']).toEqual({ status: 'alpha', plan: 'pro' })
      expect((await say({ status: null })).body['user_metadata']).toEqual({ plan: 'pro' })
    },
  )

  it('is the only way to set claims: users cannot set them about themselves', async () => {
    const email = anEmail()
    const { token } = await site.secretsOf(email, () => site.signUp({ email }, OWNER))
    const { body } = await site.verify({ type: 'signup', token_hash: token })
    const before = (body['user'] as Json)['user_metadata']
    const data = {
      sub: anId(),
      email: 'x@y.zz',
      phone: '1',
      phone_verified: true,
      email_verified: null,
      a: 1,
    }
    const changed = await put(site.server, '/user', { data }, { token: String(body['access_token']) })
    expect(changed.body['user_metadata']).toEqual({ ...(before as Json), a: 1 })
  })
})
