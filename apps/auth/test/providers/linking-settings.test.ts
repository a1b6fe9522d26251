import { describe, expect, it } from '@jest/globals'
import { anEmail, aUser } from '../support/api.js'
import { signInWith, userOf } from '../support/fake-provider.js'
import { anId, NOT_LET_IN, startProviderSite, type ProviderSite } from '../support/provider-site.js'

describe('account linking under other settings (docs/specification.md#account-linking)', () => {
  const withSite = async (env: Record<string, string>, test: (site: ProviderSite) => Promise<void>) => {
    const site = await startProviderSite(env)
    try {
      await test(site)
    } finally {
      await site.close()
    }
  }

  it('with autoconfirm the address of a new account counts as proven, and finds no other account', () =>
    withSite({ AUTH_MAILER_AUTOCONFIRM: 'true' }, async (site) => {
      const { server } = site
      const owner = await aUser(server)
      site.github(anId(), { email: owner.email, verified: false })
      expect((await signInWith(server, 'github')).query).toMatchObject(NOT_LET_IN)
      const email = anEmail()
      site.github(anId(), { email, verified: false })
      expect(await userOf(server, await signInWith(server, 'github'))).toMatchObject({
        email,
        email_confirmed_at: expect.any(String) as unknown,
      })
    }))

  it('with sign-up disabled the known get in, also by a verified secondary address, and others do not', () =>
    withSite({ AUTH_DISABLE_SIGNUP: 'true', AUTH_MAILER_AUTOCONFIRM: 'true' }, async (site) => {
      const { server } = site
      const owner = anEmail()
      await server.context.db.query(
        `insert into users (id, aud, role, email, email_confirmed_at, created_at, updated_at)
         values ($1, 'authenticated', 'authenticated', $2, now(), now(), now())`,
        [anId(), owner],
      )
      site.github(anId(), { email: anEmail() })
      expect((await signInWith(server, 'github')).query).toMatchObject({
        error: 'access_denied',
        error_code: 'signup_disabled',
      })
      site.github(anId(), { email: anEmail() }, { email: owner, primary: false })
      expect(await userOf(server, await signInWith(server, 'github'))).toMatchObject({ email: owner })
    }))

  it('unverified addresses are let in where AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS says so', () =>
    withSite({ AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true' }, async (site) => {
      const email = anEmail()
      site.github(anId(), { email, verified: false })
      const user = await userOf(site.server, await signInWith(site.server, 'github'))
      expect(user).toMatchObject({ email })
      expect(user['email_confirmed_at']).toBeUndefined()
      await site.server.inbox.waitForMail({ to: email })
    }))

  it('a user who signed in that way is not cleaned up as an abandoned sign-up', () =>
    withSite(
      {
        AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
        AUTH_UNCONFIRMED_USER_RETENTION: '48h',
        AUTH_JWT_EXP: '100h',
      },
      async (site) => {
        site.github(anId(), { email: anEmail(), verified: false })
        const target = await signInWith(site.server, 'github')
        site.server.clock.advance(72 * 3_600_000)
        await site.server.context.cleanup.run()
        expect(await userOf(site.server, target)).toHaveProperty('id')
      },
    ))
})
