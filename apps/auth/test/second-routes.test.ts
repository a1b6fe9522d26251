import { describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, call, get, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { signInWith, userOf } from './support/fake-provider.js'
import { anAuthenticator, passkeySteps } from './support/passkeys.js'
import { admin, EMAIL_PROOFS, STRANGERS_PASSWORD, useProofSite } from './support/proof-site.js'
import { anId, identitiesOf, link } from './support/provider-site.js'

const site = useProofSite({ AUTH_SMS_AUTOCONFIRM: 'true' })
const passkeys = passkeySteps(() => site.server)

type Stranger = { email: string; github: string; token: string; refreshToken: string }

/** Signs a stranger in through a provider that reports someone else's address as theirs without having verified it. */
const aStranger = async (): Promise<Stranger> => {
  const [email, github] = [anEmail(), anId()]
  site.github(github, { email, verified: false })
  const { fragment } = await signInWith(site.server, 'github')
  return {
    email,
    github,
    token: fragment['access_token'] ?? '',
    refreshToken: fragment['refresh_token'] ?? '',
  }
}
const shown = async ({ token }: Stranger) => (await get(site.server, '/user', { token })).body
const setPassword = ({ token }: Stranger) =>
  put(site.server, '/user', { password: STRANGERS_PASSWORD }, { token })
const unlink = async (stranger: Stranger, provider: string) => {
  const { identities } = await shown(stranger)
  const found = (identities as Json[]).find((identity) => identity['provider'] === provider)
  const path = `/user/identities/${String(found?.['identity_id'])}`
  return call(site.server, 'DELETE', path, { token: stranger.token })
}

/** What a stranger does to make the account that claims someone else's address their own. */
const PREPARATIONS: Record<string, (stranger: Stranger) => Promise<unknown>> = {
  'adds a number': ({ token }) => put(site.server, '/user', { phone: aPhone() }, { token }),
  'confirms another email address': async ({ token }) => {
    const own = anEmail()
    const { status } = await put(site.server, '/user', { email: own }, { token })
    if (status !== 200) return
    const { token: secret } = await mailTo(site.server, own)
    return site.verify({ type: 'email_change', token_hash: secret })
  },
  'links a verified account and removes the one that claimed it': async (stranger) => {
    site.figma(anId(), anEmail())
    await link(site.server, stranger.token, 'figma')
    return unlink(stranger, 'github')
  },
  'links an account with a verified address': async ({ token }) => {
    site.figma(anId(), anEmail())
    return link(site.server, token, 'figma')
  },
  'registers a passkey': ({ token }) => passkeys.register({ access_token: token }, anAuthenticator()),
  'has an administrator add a number': async (stranger) => {
    const { id } = await shown(stranger)
    return put(site.server, `/admin/users/${String(id)}`, { phone: aPhone() }, admin)
  },
}

describe.each(Object.entries(PREPARATIONS))('a stranger who claims an address and %s', (_, prepare) => {
  it.each(EMAIL_PROOFS.filter((name) => name !== 'an administrator'))(
    'has no part in the account of its owner, who proves it by %s',
    async (proof) => {
      const stranger = await aStranger()
      await prepare(stranger)
      await setPassword(stranger)
      // Recovery is for addresses that have an account.
      await site.secretsOf(stranger.email, () => post(site.server, '/magiclink', { email: stranger.email }))
      // Only two of several codes with the same time are compared.
      site.server.clock.advance(1000)
      const owner = await site.prove(proof, stranger.email)
      expect(owner).toMatchObject({
        email: stranger.email,
        email_confirmed_at: expect.any(String) as unknown,
      })
      expect(owner['phone']).toBe('')
      expect(identitiesOf(owner)).toEqual([proof.includes('provider') ? 'github' : 'email'])
      expect((await site.signIn({ email: stranger.email }, STRANGERS_PASSWORD)).status).toBe(400)
      const { refreshToken: refresh_token } = stranger
      const refreshed = await post(site.server, '/token?grant_type=refresh_token', { refresh_token })
      expect((refreshed.body['user'] as Json | undefined)?.['id']).not.toBe(owner['id'])
      site.github(stranger.github, { email: stranger.email, verified: false })
      const back = await userOf(site.server, await signInWith(site.server, 'github'))
      expect(back['id']).not.toBe(owner['id'])
    },
  )

  it.each(['/invite', '/admin/generate_link'])(
    'leaves the address to whom an administrator speaks of by %s',
    async (path) => {
      const stranger = await aStranger()
      const invitation = await post(
        site.server,
        path,
        { type: 'signup', email: stranger.email, password: PASSWORD },
        admin,
      )
      expect(invitation.status).toBe(200)
      await prepare(stranger)
      await setPassword(stranger)
      const owner = await site.prove('a recovery link', stranger.email)
      // A number that an administrator has also entered belongs to the same person.
      expect(identitiesOf(owner).filter((name) => name !== 'phone')).toEqual(['email'])
      expect((await site.signIn({ email: stranger.email }, STRANGERS_PASSWORD)).status).toBe(400)
      site.github(stranger.github, { email: stranger.email, verified: false })
      const back = await userOf(site.server, await signInWith(site.server, 'github'))
      expect(back['id']).not.toBe(owner['id'])
    },
  )
})
