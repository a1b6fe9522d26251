import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  aPhone,
  anEmail,
  aUser,
  call,
  expectError,
  get,
  mailTo,
  post,
  put,
  type Json,
} from '../support/api.js'
import { userOf } from '../support/fake-provider.js'
import {
  anId,
  auditOf,
  confirmLink,
  identitiesOf,
  link,
  linkAddress,
  startProviderSite,
  type ProviderSite,
} from '../support/provider-site.js'

const REMOVED = 'A sign-in method was removed from your account.'
const TEST_PHONE = aPhone()

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite({
    AUTH_MAILER_NOTIFICATIONS_IDENTITY_UNLINKED_ENABLED: 'true',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_JWT_ALLOWED_AUDIENCES: 'elsewhere',
    AUTH_SMS_TEST_OTP: `${TEST_PHONE}:123456`,
  })
})
afterAll(() => site.close())

const authorize = (token: string | undefined, query: string) =>
  get(site.server, `/user/identities/authorize?${query}`, { token })
const unlink = (token: unknown, id: unknown, headers: Record<string, string> = {}) =>
  call(site.server, 'DELETE', `/user/identities/${String(id)}`, { token: String(token), headers })
const idOf = (user: Json, provider: string): unknown =>
  (user['identities'] as Json[]).find((entry) => entry['provider'] === provider)?.['identity_id']
const shown = async (token: unknown) => (await get(site.server, '/user', { token: String(token) })).body

describe('linking by hand (docs/specification.md#identities and docs/specification.md#account-linking)', () => {
  it('leads to the provider by a page that asks, as JSON for clients that ask for it', async () => {
    const { access_token } = await aUser(site.server)
    const json = await authorize(access_token, 'provider=figma&skip_http_redirect=true')
    expect(json.status).toBe(200)
    const own = 'https://auth.example.com/auth/v1/authorize/confirm?link='
    expect(json.body['url']).toContain(own)
    const redirect = await authorize(access_token, 'provider=figma')
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, expect.stringContaining(own)])
    const { location } = await confirmLink(site.server, await linkAddress(site.server, access_token, 'figma'))
    expect(`${location.origin}${location.pathname}`).toBe(`${site.provider.url}/oauth`)
    expect(location.searchParams.has('skip_http_redirect')).toBe(false)
    expectError(await authorize(undefined, 'provider=figma'), 401, 'no_authorization')
  })

  it('names the provider by its name, however the application wrote it', async () => {
    const { access_token } = await aUser(site.server)
    const { text } = await get(site.server, await linkAddress(site.server, access_token, 'FIGMA'))
    expect(text).toContain('<h1>Sign in with Figma from now on?</h1>')
  })

  it.each([
    ['de-AT, de;q=0.9', 'de', 'Von jetzt an mit Figma anmelden?', 'Weiter zu Figma'],
    ['fr, en;q=0.5', 'en', 'Sign in with Figma from now on?', 'Continue to Figma'],
  ])('asks a person who prefers %s on a page in %s', async (accepted, language, heading, button) => {
    const { access_token, email } = await aUser(site.server)
    const address = await linkAddress(site.server, access_token, 'figma')
    const { text, headers } = await get(site.server, address, { headers: { 'accept-language': accepted } })
    expect(headers.get('content-language')).toBe(language)
    expect(text).toContain(`<html lang="${language}">`)
    expect(text).toContain(`<h1>${heading}</h1>`)
    expect(text).toContain(`<strong>${email}</strong>`)
    expect(text).toContain(`>${button}</button>`)
  })

  it('links to the caller, no matter which address it has', async () => {
    const user = await aUser(site.server)
    site.figma(anId(), anEmail())
    const linked = await userOf(site.server, await link(site.server, user.access_token, 'figma'))
    expect(linked).toMatchObject({ id: user.user.id, email: user.email })
    expect(identitiesOf(linked)).toEqual(['email', 'figma'])
    expect(await auditOf(site.server, user.user.id)).toContain('identity_linked')
  })

  it('refuses an identity that is known, to the caller as to anybody', async () => {
    const [user, other] = [await aUser(site.server), await aUser(site.server)]
    site.figma(anId(), anEmail())
    await link(site.server, user.access_token, 'figma')
    for (const { access_token } of [user, other])
      expect((await link(site.server, access_token, 'figma')).query['error_code']).toBe(
        'identity_already_exists',
      )
    expect(identitiesOf(await shown(other.access_token))).toEqual(['email'])
  })

  it('links once when the same account comes back for two users at once', async () => {
    const users = [await aUser(site.server), await aUser(site.server)]
    site.figma(anId(), anEmail())
    const targets = await Promise.all(users.map((user) => link(site.server, user.access_token, 'figma')))
    expect(targets.filter(({ fragment }) => 'access_token' in fragment)).toHaveLength(1)
    expect(targets.filter(({ query }) => query['error_code'] === 'identity_already_exists')).toHaveLength(1)
  })

  it('makes an anonymous user permanent, with the verified address', async () => {
    const anonymous = (await post(site.server, '/signup', {})).body
    const email = anEmail()
    site.figma(anId(), email)
    const user = await userOf(
      site.server,
      await link(site.server, String(anonymous['access_token']), 'figma'),
    )
    expect(user).toMatchObject({
      id: anonymous['id'],
      email,
      email_confirmed_at: expect.any(String) as unknown,
      is_anonymous: false,
    })
  })

  it('asks a user without address to confirm one that the provider did not verify', async () => {
    const anonymous = (await post(site.server, '/signup', {})).body
    const email = anEmail()
    site.github(anId(), { email, verified: false })
    const { query } = await link(site.server, String(anonymous['access_token']), 'github')
    expect(query).toMatchObject({ error_code: 'email_not_confirmed' })
    const { token } = await mailTo(site.server, email)
    const own = await shown(String(anonymous['access_token']))
    expect(own).toMatchObject({ email: '', new_email: email })
    const verified = await post(site.server, '/verify', { type: 'email_change', token })
    expect(verified.body['user']).toMatchObject({ id: anonymous['id'], email, is_anonymous: false })
  })

  it('refuses an address that somebody has to a user who would adopt it', async () => {
    const owner = await aUser(site.server)
    const anonymous = (await post(site.server, '/signup', {})).body
    site.figma(anId(), owner.email)
    const { query } = await link(site.server, String(anonymous['access_token']), 'figma')
    expect(query['error_code']).toBe('email_exists')
  })

  it('is off unless AUTH_SECURITY_MANUAL_LINKING_ENABLED is on', async () => {
    const off = await startProviderSite({ AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'false' })
    try {
      const { access_token: token } = await aUser(off.server)
      for (const answer of [
        await get(off.server, '/user/identities/authorize?provider=figma', { token }),
        await call(off.server, 'DELETE', `/user/identities/${randomUUID()}`, { token }),
        await post(
          off.server,
          '/token?grant_type=id_token',
          { link_identity: true, id_token: 'x' },
          { token },
        ),
      ])
        expectError(answer, 404, 'manual_linking_disabled', /Manual linking is disabled/)
    } finally {
      await off.close()
    }
  })
})

describe('unlinking (docs/specification.md#identities)', () => {
  async function withFigma(email: string | undefined = anEmail()) {
    const user = await aUser(site.server)
    site.figma(anId(), email)
    const linked = await userOf(site.server, await link(site.server, user.access_token, 'figma'))
    return { ...user, linked, figmaEmail: email }
  }

  it('moves the account to the address that is left, and tells the previous one', async () => {
    const user = await withFigma()
    expect((await unlink(user.access_token, idOf(user.linked, 'email'))).body).toEqual({})
    const after = await shown(user.access_token)
    expect(after).toMatchObject({
      email: user.figmaEmail,
      email_confirmed_at: expect.any(String) as unknown,
      app_metadata: { provider: 'figma', providers: ['figma'] },
    })
    await site.server.inbox.waitForMail({ to: user.email, subject: REMOVED })
    expect(site.server.inbox.messages({ to: String(user.figmaEmail) })).toHaveLength(0)
    expect(await auditOf(site.server, user.user.id)).toContain('identity_unlinked')
  })

  it('leaves the address alone while another identity has it', async () => {
    const user = await withFigma()
    expect((await unlink(user.access_token, idOf(user.linked, 'figma'))).status).toBe(200)
    expect(await shown(user.access_token)).toMatchObject({
      email: user.email,
      app_metadata: { providers: ['email'] },
    })
  })

  it('prefers a verified address to an older unverified one, and ends pending links', async () => {
    const user = await aUser(site.server)
    site.github(anId(), { email: anEmail(), verified: false })
    await link(site.server, user.access_token, 'github')
    const email = anEmail()
    site.figma(anId(), email)
    const linked = await userOf(site.server, await link(site.server, user.access_token, 'figma'))
    await post(site.server, '/recover', { email: user.email })
    const mails = await site.server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
    const token = new URL(mails.links.find((url) => url.includes('token=')) ?? '').searchParams.get('token')
    await unlink(user.access_token, idOf(linked, 'email'))
    expect(await shown(user.access_token)).toMatchObject({ email })
    expectError(await post(site.server, '/verify', { type: 'recovery', token }), 403, 'otp_expired')
  })

  it('takes no address that nobody has proven: its owner would come into somebody else’s account', async () => {
    const user = await aUser(site.server)
    site.github(anId(), { email: anEmail(), verified: false })
    const linked = await userOf(site.server, await link(site.server, user.access_token, 'github'))
    await unlink(user.access_token, idOf(linked, 'email'))
    const after = await shown(user.access_token)
    expect(after).toMatchObject({ email: '' })
    expect(after['email_confirmed_at']).toBeUndefined()
  })

  it('clears the phone with the identity of the phone', async () => {
    const user = await aUser(site.server)
    await put(site.server, '/user', { phone: TEST_PHONE }, { token: user.access_token })
    const { body } = await post(site.server, '/verify', {
      type: 'phone_change',
      phone: TEST_PHONE,
      token: '123456',
    })
    const withPhone = body['user'] as Json
    expect(withPhone).toMatchObject({ phone: TEST_PHONE })
    expect((await unlink(user.access_token, idOf(withPhone, 'phone'))).status).toBe(200)
    const after = await shown(user.access_token)
    expect(after).toMatchObject({ phone: '', email: user.email })
    expect(after['phone_confirmed_at']).toBeUndefined()
  })

  it('moves the account to an address that a stranger signed up with and never proved', async () => {
    const user = await withFigma()
    await post(site.server, '/signup', { email: user.figmaEmail, password: 'of the stranger' })
    expect((await unlink(user.access_token, idOf(user.linked, 'email'))).status).toBe(200)
    expect(await shown(user.access_token)).toMatchObject({ id: user.user.id, email: user.figmaEmail })
  })

  it('refuses when the address that would be left is taken by another user', async () => {
    const user = await withFigma()
    const thief = await aUser(site.server)
    await site.server.context.db.query('update users set email = $2 where id = $1', [
      thief.user.id,
      user.figmaEmail,
    ])
    const answer = await unlink(user.access_token, idOf(user.linked, 'email'))
    expectError(answer, 422, 'email_conflict_identity_not_deletable')
    expect(identitiesOf(await shown(user.access_token))).toEqual(['email', 'figma'])
  })

  it('refuses ids that are none, foreign ones, and a token for another audience', async () => {
    const [user, other] = [await withFigma(), await withFigma()]
    expectError(await unlink(user.access_token, 'x'), 404, 'validation_failed')
    expectError(await unlink(user.access_token, randomUUID()), 422, 'identity_not_found')
    expectError(await unlink(user.access_token, idOf(other.linked, 'figma')), 422, 'identity_not_found')
    const elsewhere = { 'X-JWT-AUD': 'elsewhere' }
    expectError(
      await unlink(user.access_token, idOf(user.linked, 'figma'), elsewhere),
      403,
      'unexpected_audience',
    )
  })

  it('refuses the only sign-in method there is', async () => {
    const user = await aUser(site.server)
    const answer = await unlink(user.access_token, idOf(user.user, 'email'))
    expectError(answer, 422, 'single_identity_not_deletable')
  })

  it('keeps the last of two identities that are removed at once', async () => {
    const user = await withFigma()
    const answers = await Promise.all(
      ['email', 'figma'].map((name) => unlink(user.access_token, idOf(user.linked, name))),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])
    expect(identitiesOf(await shown(user.access_token))).toHaveLength(1)
  })
})
