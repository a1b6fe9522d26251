import { beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { anEmail, aPhone, get, PASSWORD, post, put, type Json } from './support/api.js'
import { cookieFor, depart, targetOf } from './support/fake-provider.js'
import { META } from './support/meta.js'
import {
  ELSEWHERE,
  EMAIL_PROOFS,
  OWNER,
  STRANGER,
  useProofSite,
  type EmailProof,
} from './support/proof-site.js'
import { anId } from './support/provider-site.js'
import { claimsOf, serviceToken } from './support/tokens.js'

const FOR_PARTNERS = { 'X-JWT-AUD': 'partners' }
const BY_STRANGER = { headers: { ...FOR_PARTNERS, ...ELSEWHERE.headers } }

const site = useProofSite({
  AUTH_JWT_ALLOWED_AUDIENCES: 'partners',
  AUTH_RATE_LIMIT_EMAIL_SENT: '100000',
  AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '100000',
  AUTH_RATE_LIMIT_VERIFY: '100000',
})
// However high a limit is, only a burst of requests from one client may come at once. A second refills the buckets.
beforeEach(() => site.server.clock.advance(1000))

/**
 * What the first proof of an address does to each column, whoever signed up with the address before. A column marked `whoever` may keep a
 * stranger's value, because it says nothing about the person and opens nothing. All others must be the same as without the stranger.
 */
const COLUMNS: Record<string, 'the proof' | 'an administrator' | 'cleared' | 'whoever'> = {
  id: 'whoever',
  created_at: 'whoever',
  updated_at: 'the proof',
  aud: 'the proof',
  role: 'an administrator',
  email: 'the proof',
  phone: 'the proof',
  encrypted_password: 'the proof',
  email_confirmed_at: 'the proof',
  phone_confirmed_at: 'the proof',
  confirmed_at: 'the proof',
  app_metadata: 'the proof',
  user_metadata: 'the proof',
  invited_at: 'an administrator',
  banned_until: 'an administrator',
  is_sso_user: 'an administrator',
  is_anonymous: 'the proof',
  last_sign_in_at: 'whoever',
  confirmation_sent_at: 'whoever',
  recovery_sent_at: 'whoever',
  email_change: 'cleared',
  email_change_confirm_status: 'cleared',
  email_change_sent_at: 'whoever',
  phone_change: 'cleared',
  phone_change_sent_at: 'whoever',
  reauthentication_sent_at: 'whoever',
  deletion_due_at: 'cleared',
  deleted_at: 'an administrator',
}

/** All columns except those marked `whoever`, without what differs between any two accounts. */
async function rowOf(address: string): Promise<Json> {
  const { rows } = await site.server.context.db.query<Json>(
    'select * from users where email = $1 or phone = $1',
    [address],
  )
  const decided = Object.entries(rows[0] ?? {}).filter(([column]) => COLUMNS[column] !== 'whoever')
  const text = JSON.stringify(Object.fromEntries(decided))
    .replaceAll(address, 'ADDRESS')
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID')
    .replaceAll(/\$2b\$[^"]+/g, 'HASH')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
  return JSON.parse(text) as Json
}

const given = { password: STRANGER.password, data: STRANGER.data }

/** What strangers do with an address whose email they cannot read. */
const STRANGERS: Record<string, (email: string) => Promise<void>> = {
  async '/signup'(email) {
    await post(site.server, '/signup', { email, ...given }, BY_STRANGER)
  },
  async '/otp'(email) {
    await post(site.server, '/otp', { email, data: STRANGER.data }, BY_STRANGER)
  },
  async '/magiclink'(email) {
    await post(site.server, '/magiclink', { email, data: STRANGER.data }, BY_STRANGER)
  },
  async 'a provider that does not vouch for it'(email) {
    site.github(anId(), { email, verified: false })
    const { state } = await depart(site.server, 'github')
    const headers = { ...cookieFor(state), ...FOR_PARTNERS }
    const back = await get(site.server, `/callback?code=the-code&state=${state}`, { headers })
    const token = targetOf(back).fragment['access_token'] ?? ''
    expect(claimsOf(token).aud).toBe('partners')
    await put(site.server, '/user', { data: { from: 'stranger' }, email: anEmail() }, { token })
    await put(site.server, '/user', { phone: aPhone() }, { token })
    const { sub = '', session_id: session } = decodeJwt(token)
    const live = await site.server.context.gate.find(sub, String(session))
    if (live === null) throw new Error('no session')
    await site.server.context.deletions.request(live, { password: '', nonce: '' }, META)
  },
}

it('decides about each column of users', async () => {
  const { rows } = await site.server.context.db.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = 'users'::regclass and attnum > 0 and not attisdropped`,
  )
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(COLUMNS).sort())
})

describe.each(Object.keys(STRANGERS))('after a sign-up by a stranger: %s', (way) => {
  it.each<EmailProof | 'its own link'>([...EMAIL_PROOFS, 'its own link'])(
    '%s makes the account that it makes without the stranger',
    async (proof) => {
      const prove = async (email: string) => {
        if (proof !== 'its own link') return site.prove(proof, email)
        const { token } = await site.secretsOf(email, () => site.signUp({ email }, OWNER))
        return (await site.verify({ type: 'signup', token_hash: token })).body['user'] as Json
      }
      const [alone, disputed] = [anEmail(), anEmail()]
      // Some proofs need an account.
      await site.signUp({ email: alone }, { password: PASSWORD, data: {} }, ELSEWHERE)
      await STRANGERS[way]?.(disputed)
      expect((await prove(alone))['aud']).toBe('authenticated')
      expect((await prove(disputed))['aud']).toBe('authenticated')
      expect(await rowOf(disputed)).toEqual(await rowOf(alone))
    },
  )
})

describe('an audience', () => {
  const partners = { headers: FOR_PARTNERS }

  it.each(['/signup', '/otp'])('applies with the own code of a sign-up by SMS: %s', async (path) => {
    const phone = aPhone()
    await post(site.server, '/otp', { phone }, BY_STRANGER)
    await post(site.server, path, path === '/otp' ? { phone } : { phone, password: PASSWORD })
    const { body } = await site.verify({ type: 'sms', phone, token: site.gateway.codeFor(phone) })
    expect(claimsOf(body['access_token']).aud).toBe('authenticated')
    const own = aPhone()
    await post(
      site.server,
      path,
      path === '/otp' ? { phone: own } : { phone: own, password: PASSWORD },
      partners,
    )
    const answer = await site.verify({ type: 'sms', phone: own, token: site.gateway.codeFor(own) })
    expect(claimsOf(answer.body['access_token']).aud).toBe('partners')
  })

  it('is that of the administrator who invites or confirms somebody, whatever others sign up with', async () => {
    const token = serviceToken()
    for (const invite of [
      (email: string) => post(site.server, '/invite', { email }, { token, ...partners }),
      (email: string) => post(site.server, '/admin/users', { email, aud: 'partners' }, { token }),
    ]) {
      const email = anEmail()
      await invite(email)
      await site.signUp({ email }, STRANGER, ELSEWHERE)
      expect(await site.prove('a magic link', email)).toMatchObject({ aud: 'partners' })
    }
    const email = anEmail()
    await site.signUp({ email }, STRANGER)
    expect((await post(site.server, '/invite', { email }, { token, ...partners })).body['aud']).toBe(
      'partners',
    )
    const { id } = await site.userRow({ email })
    const path = `/admin/users/${String(id)}`
    const confirmed = await put(site.server, path, { email_confirm: true }, { token })
    expect(confirmed.body['aud']).toBe('partners')
  })

  it('of an anonymous user stays when they add an address', async () => {
    const { body } = await post(site.server, '/signup', {}, partners)
    const [email, token] = [anEmail(), String(body['access_token'])]
    const { token: link } = await site.secretsOf(email, () => put(site.server, '/user', { email }, { token }))
    const { body: changed } = await site.verify({ type: 'email_change', token_hash: link })
    expect(changed['user']).toMatchObject({ email, aud: 'partners' })
  })

  it('of an anonymous user stays when an administrator gives them an address that they prove', async () => {
    const { body } = await post(site.server, '/signup', {}, partners)
    const [email, { id }] = [anEmail(), body['user'] as Json]
    await put(site.server, `/admin/users/${String(id)}`, { email }, { token: serviceToken() })
    expect(await site.prove('a magic link', email)).toMatchObject({ id, aud: 'partners' })
  })
})
