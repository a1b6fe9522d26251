import { describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  call,
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
import { anId, identitiesOf, link } from './support/provider-site.js'

const GIVEN = 'given by the administrator'

const site = useProofSite({ AUTH_EXTERNAL_GITHUB_EMAIL_OPTIONAL: 'true' })

const change = (id: unknown, body: Json) =>
  put(site.server, `/admin/users/${String(id)}`, body, { ...admin, versioned: true })
const anonymous = async () => {
  const { body } = await post(site.server, '/signup', {})
  return { id: (body['user'] as Json)['id'], token: String(body['access_token']) }
}
const withoutEmail = async () => {
  site.github(anId())
  const { fragment } = await signInWith(site.server, 'github')
  const token = fragment['access_token'] ?? ''
  return { id: (await get(site.server, '/user', { token })).body['id'], token }
}
/** A user who has a password, but has unlinked the address that it belonged to. */
const withPasswordAlone = async () => {
  const user = await aUser(site.server)
  const token = user.access_token
  site.github(anId())
  await link(site.server, token, 'github')
  const own = (user.user['identities'] as Json[])[0]?.['identity_id']
  const unlinked = await call(site.server, 'DELETE', `/user/identities/${String(own)}`, { token })
  expect(unlinked.status).toBe(200)
  return { id: user.user.id, token }
}

describe.each([
  ['an anonymous user', anonymous],
  ['a user from a provider without addresses', withoutEmail],
  ['a user who kept a password without an address', withPasswordAlone],
])('%s', (_, someone) => {
  it.each([
    ['at once', (email: string) => [{ email, email_confirm: true, password: GIVEN }]],
    ['the address first', (email: string) => [{ email, email_confirm: true }, { password: GIVEN }]],
    ['the password first', (email: string) => [{ password: GIVEN }, { email, email_confirm: true }]],
    ['to confirm last', (email: string) => [{ email, password: GIVEN }, { email_confirm: true }]],
  ])('gets an address and a password from an administrator, %s', async (_order, steps) => {
    const [{ id }, email] = [await someone(), anEmail()]
    for (const step of steps(email)) expect((await change(id, step)).status).toBe(200)
    const signedIn = await site.signIn({ email }, GIVEN)
    expect(signedIn.body['user']).toMatchObject({
      id,
      email,
      email_confirmed_at: expect.any(String) as unknown,
    })
  })

  it('gets a password that waits for the proof of an address that nobody confirmed', async () => {
    const [{ id }, email] = [await someone(), anEmail()]
    expect((await change(id, { email, password: GIVEN })).status).toBe(200)
    expectError(await site.signIn({ email }, GIVEN), 400, 'email_not_confirmed')
    expect(await site.prove('a magic link', email)).toMatchObject({ id })
    expect((await site.signIn({ email }, GIVEN)).status).toBe(200)
  })

  it('keeps the session and the way in when an administrator confirms a first address', async () => {
    const { id, token } = await someone()
    const before = (await get(site.server, '/user', { token })).body
    const { body } = await change(id, { email: anEmail(), email_confirm: true })
    expect(identitiesOf(body)).toEqual([...new Set([...identitiesOf(before), 'email'])].sort())
    expect((await get(site.server, '/user', { token })).status).toBe(200)
  })
})

describe('an anonymous user whose address an administrator enters', () => {
  const entered = async () => {
    const [{ id, token }, email] = [await anonymous(), anEmail()]
    expect((await change(id, { email })).status).toBe(200)
    return { id, token, email }
  }

  it('keeps the session when they confirm it later, as when they confirm it at once', async () => {
    const { id, token, email } = await entered()
    const renamed = await put(site.server, '/user', { data: { name: 'Ann' } }, { token })
    expect(renamed.status).toBe(200)
    expect((await change(id, { email_confirm: true })).status).toBe(200)
    const { body } = await get(site.server, '/user', { token })
    expect(body).toMatchObject({ id, email, is_anonymous: false, user_metadata: { name: 'Ann' } })
    expect(identitiesOf(body)).toEqual(['email'])
  })

  it('keeps nothing of a stranger who signed up with it meanwhile', async () => {
    const { id, token, email } = await entered()
    const { server } = site
    await post(server, '/signup', { email, password: STRANGERS_PASSWORD, data: { theirs: true } })
    const { token: secret } = await mailTo(server, email)
    expect((await change(id, { email_confirm: true })).status).toBe(200)
    expect((await site.signIn({ email }, STRANGERS_PASSWORD)).status).toBe(400)
    expectError(await post(server, '/verify', { type: 'signup', token: secret }), 403, 'otp_expired')
    const { body } = await get(server, '/user', { token })
    expect(body).toMatchObject({ id, email })
    expect(body['user_metadata']).not.toHaveProperty('theirs')
  })

  it('is signed out when whoever reads its mail proves it: the administrator may have mistyped it', async () => {
    const { id, token, email } = await entered()
    expect(await site.prove('a magic link', email)).toMatchObject({ id })
    expectError(await get(site.server, '/user', { token }), 403, 'session_not_found')
  })
})

describe('a password that was kept without an address', () => {
  it('opens nothing for the owner of an address that an administrator enters unconfirmed', async () => {
    const [{ id }, email] = [await withPasswordAlone(), anEmail()]
    expect((await change(id, { email })).status).toBe(200)
    await site.prove('a magic link', email)
    expectError(await site.signIn({ email }, PASSWORD), 400, 'invalid_credentials')
  })

  it('goes with an address that an administrator confirms', async () => {
    const [{ id }, email] = [await withPasswordAlone(), anEmail()]
    expect((await change(id, { email, email_confirm: true })).status).toBe(200)
    expect((await site.signIn({ email }, PASSWORD)).status).toBe(200)
  })
})

describe('an account that signed up with an address nobody proved', () => {
  const aClaim = async () => {
    const email = anEmail()
    await site.secretsOf(email, () => site.signUp({ email }, STRANGER))
    return { email, id: (await site.userRow({ email }))['id'] }
  }

  it.each([
    ['at once', (phone: string) => [{ phone, phone_confirm: true }]],
    ['in two steps', (phone: string) => [{ phone }, { phone_confirm: true }]],
  ])('loses it when an administrator confirms a number, %s', async (_, steps) => {
    const [{ email, id }, phone] = [await aClaim(), aPhone()]
    for (const step of steps(phone)) expect((await change(id, step)).status).toBe(200)
    expect((await get(site.server, `/admin/users/${String(id)}`, admin)).body).toMatchObject({
      phone,
      email: '',
    })
    const { token } = await site.secretsOf(email, () => site.signUp({ email }, OWNER))
    const { body } = await site.verify({ type: 'signup', token_hash: token })
    expect((body['user'] as Json)['id']).not.toBe(id)
    expectError(await site.signIn({ email }, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it('loses it to whoever proves the number that an administrator entered', async () => {
    const [{ email, id }, phone] = [await aClaim(), aPhone()]
    await change(id, { phone })
    await post(site.server, '/otp', { phone })
    const { body } = await site.verify({ type: 'sms', phone, token: site.gateway.codeFor(phone) })
    expect(body['user']).toMatchObject({ id, phone, email: '' })
    expect(await site.userRow({ email })).toEqual({})
  })

  it('goes without the number that an administrator entered to whoever proves it', async () => {
    const [{ email, id }, phone] = [await aClaim(), aPhone()]
    await change(id, { phone })
    expect(await site.prove('a magic link', email)).toMatchObject({ id, email, phone: '' })
  })

  it('keeps both when an administrator entered both, and one is proven', async () => {
    const [{ id }, email, phone] = [await aClaim(), anEmail(), aPhone()]
    await change(id, { phone })
    await change(id, { email })
    expect(await site.prove('a magic link', email)).toMatchObject({ id, email, phone })
  })

  it('keeps it when an administrator confirms both', async () => {
    const [{ email, id }, phone] = [await aClaim(), aPhone()]
    const { body } = await change(id, { phone, phone_confirm: true, email_confirm: true })
    expect(body).toMatchObject({ email, phone, email_confirmed_at: expect.any(String) as unknown })
  })
})
