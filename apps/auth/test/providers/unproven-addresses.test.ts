import { describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { anEmail, aUser, get, mailTo, PASSWORD, post } from '../support/api.js'
import { cookieFor, depart, targetOf, type Target } from '../support/fake-provider.js'
import { admin } from '../support/proof-site.js'
import { anId, startProviderSite, type ProviderSite } from '../support/provider-site.js'
import { NO_EMAIL_GAPS } from '../support/server.js'

const STRANGER = { 'X-Client': 'the stranger' }
const NEEDS_VERIFICATION = { error_code: 'provider_email_needs_verification' }

async function signIn(site: ProviderSite): Promise<Target> {
  const { state } = await depart(site.server, 'github')
  const headers = { ...cookieFor(state), ...STRANGER }
  const query = String(new URLSearchParams({ code: 'the-code', state }))
  return targetOf(await get(site.server, `/callback?${query}`, { headers }))
}

/** The outcome of a sign-in by someone who claims the address at GitHub. */
async function claim(site: ProviderSite, email: string): Promise<Record<string, string>> {
  site.github(anId(), { email, verified: false })
  return (await signIn(site)).query
}

const request = (site: ProviderSite) => post(site.server, '/otp', { email: anEmail() }, { headers: STRANGER })

async function withSite(env: Record<string, string>, test: (site: ProviderSite) => Promise<void>) {
  const site = await startProviderSite({ AUTH_RATE_LIMIT_HEADER: 'X-Client', ...env })
  try {
    await test(site)
  } finally {
    await site.close()
  }
}

describe('a sign-in with an address that no provider verified tells nothing about its account', () => {
  it('while the client may cause no more emails', () =>
    withSite({ AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '3' }, async (site) => {
      const { email: taken } = await aUser(site.server)
      for (let i = 0; i < 3; i += 1) expect((await request(site)).status).toBe(200)
      const free = await claim(site, anEmail())
      expect(free).toMatchObject({ error_code: 'over_email_send_rate_limit' })
      expect(await claim(site, taken)).toEqual(free)
    }))

  it('by how many emails are left', () =>
    withSite({ AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '2' }, async (site) => {
      const { email: taken } = await aUser(site.server)
      expect(await claim(site, taken)).toMatchObject(NEEDS_VERIFICATION)
      expect((await request(site)).status).toBe(200)
      expect((await request(site)).status).toBe(429)
    }))

  it('where it may receive no email', () =>
    withSite({ AUTH_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES: 'ann@example.com' }, async (site) => {
      const taken = anEmail()
      await post(site.server, '/admin/users', { email: taken, email_confirm: true }, admin)
      const free = await claim(site, anEmail())
      expect(free).toMatchObject({ error_code: 'email_address_not_authorized' })
      expect(await claim(site, taken)).toEqual(free)
    }))
})

it('a provider account that is let in counts as no email, however often it returns', () =>
  withSite({ AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '1' }, async (site) => {
    const [id, email] = [anId(), anEmail()]
    site.github(id, { email })
    expect((await signIn(site)).fragment).toHaveProperty('access_token')
    site.github(id, { email, verified: false })
    for (let i = 0; i < 3; i += 1) expect((await signIn(site)).fragment).toHaveProperty('access_token')
    expect((await request(site)).status).toBe(200)
  }))

it('a sign-in that needs an email needs one connection to the database', () =>
  withSite({ AUTH_DB_MAX_POOL_SIZE: '1' }, async (site) => {
    const email = anEmail()
    expect(await claim(site, email)).toMatchObject(NEEDS_VERIFICATION)
    await site.server.inbox.waitForMail({ to: email })
  }))

it('a sign-in that waits for the proof of the owner does not enter the account', () =>
  withSite(NO_EMAIL_GAPS, async (site) => {
    const email = anEmail()
    expect(await claim(site, email)).toMatchObject(NEEDS_VERIFICATION)
    const { mail } = await mailTo(site.server, email)
    expect((await post(site.server, '/signup', { email, password: PASSWORD })).status).toBe(200)
    const { token } = await mailTo(site.server, email, mail)
    const { proof, stranger } = await site.server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from users where email = $1 for update', [email])
      const proof = post(site.server, '/verify', { type: 'signup', token_hash: token })
      await lockWaiters(site.server.context.db, 1)
      const stranger = signIn(site)
      await lockWaiters(site.server.context.db, 2)
      return { proof, stranger }
    })
    expect((await proof).status).toBe(200)
    expect((await stranger).query).toMatchObject(NEEDS_VERIFICATION)
    expect((await stranger).fragment).not.toHaveProperty('access_token')
  }))
