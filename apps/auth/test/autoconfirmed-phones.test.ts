import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, expectError, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { signInWith } from './support/fake-provider.js'
import { admin, STRANGERS_PASSWORD } from './support/proof-site.js'
import { anId, identitiesOf, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { NO_EMAIL_GAPS } from './support/server.js'

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite({
    ...NO_EMAIL_GAPS,
    AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_AUTOCONFIRM: 'true',
    AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
  })
})
afterAll(() => site.close())

/** Signs a stranger in through a provider that reports someone else's address as theirs without having verified it. */
const aStranger = async (email: string) => {
  site.github(anId(), { email, verified: false })
  const { fragment } = await signInWith(site.server, 'github')
  return { token: fragment['access_token'] ?? '' }
}
const addPhone = (session: { token: string }, phone = aPhone()) =>
  put(site.server, '/user', { phone }, session)
const setPassword = (session: { token: string }) =>
  put(site.server, '/user', { password: STRANGERS_PASSWORD }, session)
const signIn = (email: string, password: string) =>
  post(site.server, '/token?grant_type=password', { email, password })
/** Makes a request, and proves the address with the link that it sends to the mailbox. */
const proveBy = async (type: string, email: string, ask: () => Promise<unknown>) => {
  const last = site.server.inbox.messages({ to: email }).at(-1)
  await ask()
  const { token } = await mailTo(site.server, email, last)
  const { status, body } = await post(site.server, '/verify', { type, token_hash: token })
  expect(status).toBe(200)
  return body['user'] as Json
}

describe('a number that counts as confirmed, in an account with an address that somebody only claims', () => {
  it.each([
    ['email', '/magiclink', {}],
    ['signup', '/signup', { password: PASSWORD }],
    ['invite', '/invite', {}],
  ])('leaves the address to its owner, who proves it by %s of %s', async (type, path, body) => {
    const email = anEmail()
    const stranger = await aStranger(email)
    const changed = await addPhone(stranger)
    expect(changed.body).toMatchObject({ email: '', phone_confirmed_at: expect.any(String) as unknown })
    expect((await setPassword(stranger)).status).toBe(200)

    const owner = await proveBy(type, email, () => post(site.server, path, { email, ...body }, admin))
    expect(owner['id']).not.toBe(changed.body['id'])
    expect(identitiesOf(owner)).toEqual(['email'])
    expectError(await signIn(email, STRANGERS_PASSWORD), 400, 'invalid_credentials')
  })

  it.each([
    ['invited', (email: string) => post(site.server, '/invite', { email }, admin)],
    [
      'made a link for',
      (email: string) =>
        post(site.server, '/admin/generate_link', { type: 'signup', email, password: PASSWORD }, admin),
    ],
  ])('is refused once an administrator has %s the address', async (_, vouch) => {
    const email = anEmail()
    const stranger = await aStranger(email)
    expect((await vouch(email)).status).toBe(200)
    expectError(await addPhone(stranger), 422, 'email_not_confirmed')
    expectError(await setPassword(stranger), 422, 'email_not_confirmed')
    const owner = await proveBy('email', email, () => post(site.server, '/magiclink', { email }))
    expect(identitiesOf(owner)).toEqual(['email'])
    expectError(await addPhone(stranger), 403, 'session_not_found')
  })

  it('is taken from an account that only claims it', async () => {
    const phone = aPhone()
    const created = await post(site.server, '/admin/users', { email: anEmail(), email_confirm: true }, admin)
    // An administrator may enter a number for someone who signed up, without saying that it is confirmed.
    const claimant = await post(site.server, '/signup', { email: anEmail(), password: PASSWORD })
    expect(created.status).toBe(200)
    await site.server.context.db.query('update users set phone = $2 where id = $1', [
      claimant.body['id'],
      phone,
    ])
    const stranger = await aStranger(anEmail())
    expect((await addPhone(stranger, phone)).body).toMatchObject({ phone })
  })
})
