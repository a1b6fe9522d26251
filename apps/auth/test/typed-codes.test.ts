import { describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type Json,
} from './support/api.js'
import { signInWith } from './support/fake-provider.js'
import { admin, OWNER, STRANGER, STRANGERS_PASSWORD, useProofSite } from './support/proof-site.js'
import { anId, identitiesOf } from './support/provider-site.js'

const site = useProofSite()

const network = (name: string) => ({ headers: { 'X-Client': name } })
const [HOME, AWAY] = [network('home'), network('away')]
const verify = (body: Json, from: typeof HOME, token?: string) =>
  site.verify(body, { ...from, ...(token === undefined ? {} : { token }) })

/** The kinds of address that two people may share, and how each kind's codes are typed and read. */
const KINDS = {
  email: {
    anAddress: () => ({ email: anEmail() }),
    types: ['signup', 'email'],
    codeAfter: async (address: Json, send: () => ReturnType<typeof post>) =>
      (await site.secretsOf(String(address['email']), send)).code,
  },
  phone: {
    anAddress: () => ({ phone: aPhone() }),
    types: ['sms'],
    codeAfter: async (address: Json, send: () => ReturnType<typeof post>) => {
      expect((await send()).status).toBe(200)
      return site.gateway.codeFor(String(address['phone']))
    },
  },
} as const

describe.each(['email', 'phone'] as const)('the code of a sign-up with an address: %s', (kind) => {
  const { anAddress, types, codeAfter } = KINDS[kind]
  const signUp = (address: Json, given: typeof OWNER, from: typeof HOME) =>
    codeAfter(address, () => site.signUp(address, given, from))
  const expectNeither = async (address: Json, { body }: { body: Json }) => {
    expect((body['user'] as Json)['user_metadata']).not.toHaveProperty('from')
    for (const password of [PASSWORD, STRANGERS_PASSWORD])
      expectError(await site.signIn(address, password), 400, 'invalid_credentials')
  }

  it.each([...types])(
    'of a stranger brings nothing where the owner signed up, with type %s',
    async (type) => {
      const address = anAddress()
      await signUp(address, OWNER, HOME)
      const token = await signUp(address, STRANGER, AWAY)
      const proved = await verify({ type, ...address, token }, HOME)
      expect(proved.status).toBe(200)
      await expectNeither(address, proved)
    },
  )

  it('of a stranger brings nothing where the owner only asked for a code', async () => {
    const address = anAddress()
    await codeAfter(address, () => post(site.server, '/otp', address, HOME))
    const token = await signUp(address, STRANGER, AWAY)
    await expectNeither(address, await verify({ type: types[0], ...address, token }, HOME))
  })

  it('brings its password and data where it was requested, whoever signed up since', async () => {
    const address = anAddress()
    const token = await signUp(address, OWNER, HOME)
    await signUp(address, STRANGER, AWAY)
    const { body } = await verify({ type: types[0], ...address, token }, HOME)
    expect(body['user']).toMatchObject({ user_metadata: { from: 'self' } })
    expect((await site.signIn(address, PASSWORD)).status).toBe(200)
    expectError(await site.signIn(address, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it('brings nothing if a proxy hides who typed it and there was another sign-up', async () => {
    const address = anAddress()
    await signUp(address, OWNER, { headers: {} as typeof HOME.headers })
    const token = await signUp(address, STRANGER, { headers: {} as typeof HOME.headers })
    await expectNeither(address, await site.verify({ type: types[0], ...address, token }))
  })
})

describe('the code of a stranger’s sign-up', () => {
  it('asks older clients for a password, which the owner chooses', async () => {
    const email = anEmail()
    await site.signUp({ email }, OWNER, HOME)
    const { code } = await site.secretsOf(email, () => site.signUp({ email }, STRANGER, AWAY))
    const proof = { type: 'signup', email, token: code }
    expectError(await post(site.server, '/verify', proof, HOME), 422, 'validation_failed')
    expect((await post(site.server, '/verify', { ...proof, password: PASSWORD }, HOME)).status).toBe(200)
    expect((await site.signIn({ email }, PASSWORD)).status).toBe(200)
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it('brings nothing into an account with data of an administrator', async () => {
    const email = anEmail()
    await post(site.server, '/invite', { email, data: { plan: 'pro' } }, admin)
    const { code } = await site.secretsOf(email, () => site.signUp({ email }, STRANGER, AWAY))
    const { body } = await verify({ type: 'email', email, token: code }, HOME)
    const { user_metadata: data } = body['user'] as { user_metadata: Json }
    expect(data).toMatchObject({ plan: 'pro' })
    expect(data).not.toHaveProperty('from')
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it('leaves no identity and no session of the stranger when the sign-up came from a provider', async () => {
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    const { fragment } = await signInWith(site.server, 'github')
    const { code } = await mailTo(site.server, email)
    const { body } = await verify({ type: 'signup', email, token: code }, HOME)
    expect(identitiesOf(body['user'] as Json)).toEqual(['email'])
    const refresh = { refresh_token: fragment['refresh_token'] }
    expect((await post(site.server, '/token?grant_type=refresh_token', refresh)).status).toBe(400)
    const again = await signInWith(site.server, 'github')
    const back = await get(site.server, '/user', { token: again.fragment['access_token'] ?? '' })
    expect(back.body['id']).not.toBe((body['user'] as Json)['id'])
  })
})

describe.each(['email', 'phone'] as const)('the code of a change of address: %s', (kind) => {
  const { anAddress, codeAfter } = KINDS[kind]
  const type = kind === 'email' ? 'email_change' : 'phone_change'
  const tokenOf = async () => (await aUser(site.server)).access_token
  const begin = (address: Json, token: string, from: typeof HOME) =>
    codeAfter(address, () => put(site.server, '/user', address, { token, ...from }))
  const claimOf = async (token: string) => {
    const { body } = await get(site.server, '/user', { token })
    return { [kind]: body[kind] }
  }
  /** An attacker with an account adds the address that its owner is also adding, and confirms everything they can. */
  const attacked = async () => {
    const [owner, attacker] = [await tokenOf(), await aUser(site.server)]
    const address = anAddress()
    const owners = await begin(address, owner, HOME)
    const before = site.server.inbox.messages({ to: attacker.email }).at(-1)
    const attackers = await begin(address, attacker.access_token, AWAY)
    if (kind === 'email') {
      const { token } = await mailTo(site.server, attacker.email, before)
      expect((await site.verify({ type, token_hash: token }, AWAY)).status).toBe(200)
    }
    return { address, owner, owners, attacker: attacker.access_token, attackers }
  }

  it('of another account does nothing where the owner types it, with or without their session', async () => {
    const { address, owner, attacker, attackers } = await attacked()
    const proof = { type, ...address, token: attackers }
    expectError(await verify(proof, HOME), 403, 'otp_expired')
    expectError(await verify(proof, HOME, owner), 403, 'otp_expired')
    expectError(await verify(proof, AWAY, owner), 403, 'otp_expired')
    expect(await claimOf(attacker)).not.toEqual(address)
  })

  it('works with the session of its account in any network, and without one where it was requested', async () => {
    for (const [from, session] of [
      [AWAY, true],
      [HOME, false],
    ] as const) {
      const { address, owner, owners } = await attacked()
      const proof = { type, ...address, token: owners }
      expect((await verify(proof, from, session ? owner : undefined)).status).toBe(200)
    }
  })

  it('does nothing in another network without the session', async () => {
    const address = anAddress()
    const token = await begin(address, await tokenOf(), HOME)
    expectError(await verify({ type, ...address, token }, AWAY), 403, 'otp_expired')
  })

  it('works like without a session when the session has ended or the token is none', async () => {
    const address = anAddress()
    const owner = await tokenOf()
    const token = await begin(address, owner, HOME)
    await post(site.server, '/logout', {}, { token: owner })
    const proof = { type, ...address, token }
    expectError(await verify(proof, AWAY, owner), 403, 'otp_expired')
    expectError(await verify({ ...proof, token: '000000x' }, HOME, 'a publishable key'), 403, 'otp_expired')
    expectError(await verify(proof, HOME, owner), 403, 'otp_expired')
  })
})
