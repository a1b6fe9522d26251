import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, put, type Json } from '../support/api.js'
import { comeBack, depart, signInWith, targetOf, userOf } from '../support/fake-provider.js'
import {
  anId,
  auditOf,
  identitiesOf,
  link,
  NOT_LET_IN,
  startProviderSite,
  type ProviderSite,
} from '../support/provider-site.js'

const LINKED = 'A new sign-in method was linked to your account.'

describe('account linking (docs/specification.md#account-linking)', () => {
  let site: ProviderSite
  const server = () => site.server
  beforeAll(async () => {
    site = await startProviderSite({ AUTH_MAILER_NOTIFICATIONS_IDENTITY_LINKED_ENABLED: 'true' })
  })
  afterAll(() => site.close())

  const signIn = () => signInWith(server(), 'github')
  const signedIn = async () => userOf(server(), await signIn())

  async function rowsOf(providerId: string): Promise<Json[]> {
    const { rows } = await server().context.db.query<Json>(
      'select u.id, u.email from users u join identities i on i.user_id = u.id where i.provider_id = $1',
      [providerId],
    )
    return rows
  }

  describe('the identity is known', () => {
    it('signs its user in and leaves the address of the account as it is', async () => {
      const [id, email, newEmail] = [anId(), anEmail(), anEmail()]
      site.github(id, { email })
      const first = await signedIn()
      site.github(id, { email: newEmail })
      const second = await signedIn()
      expect(second).toMatchObject({ id: first['id'], email })
      expect((second['identities'] as Json[])[0]?.['identity_data']).toMatchObject({ email: newEmail })
    })

    it('also when the address belongs to somebody else by now', async () => {
      const id = anId()
      site.github(id, { email: anEmail() })
      const first = await signedIn()
      const other = await aUser(server())
      site.github(id, { email: other.email })
      expect((await signedIn())['id']).toBe(first['id'])
    })

    it('replaces the data of the identity and merges it into the data of the user', async () => {
      const [id, email] = [anId(), anEmail()]
      site.github(id, { email })
      const { fragment } = await signIn()
      await put(server(), '/user', { data: { theme: 'dark' } }, { token: fragment['access_token'] })
      site.provider.answer('GET /api/v3/user', { body: { id, login: 'renamed' } })
      const user = await signedIn()
      expect(user['user_metadata']).toMatchObject({ theme: 'dark', user_name: 'renamed', name: `Name ${id}` })
      expect((user['identities'] as Json[])[0]?.['identity_data']).not.toHaveProperty('name')
    })

    it('takes of a huge profile what a token can carry, and the identity keeps it all', async () => {
      const [id, email, name] = [anId(), anEmail(), 'n'.repeat(20_000)]
      site.github(id, { email })
      site.provider.answer('GET /api/v3/user', { body: { id, login: 'short', name } })
      // A token with all of it would be larger than the headers that servers accept.
      const user = await signedIn()
      expect(user['user_metadata']).toMatchObject({ user_name: 'short', email, email_verified: true })
      expect(user['user_metadata']).not.toHaveProperty('name')
      expect((user['identities'] as Json[])[0]?.['identity_data']).toMatchObject({ name })
    })

    it('links nothing: no audit entry, no notice', async () => {
      const [id, email] = [anId(), anEmail()]
      site.github(id, { email })
      await signedIn()
      const user = await signedIn()
      expect(await auditOf(server(), user['id'])).toEqual(['login', 'login', 'user_signedup'])
      expect(server().inbox.messages({ to: email })).toHaveLength(0)
    })
  })

  describe('no address is verified', () => {
    it('makes a user without address when somebody has it, and does not let that one in', async () => {
      const [victim, id] = [await aUser(server()), anId()]
      site.github(id, { email: victim.email, verified: false })
      const refused = (await signIn()).query
      expect(refused).toMatchObject(NOT_LET_IN)
      site.github(anId(), { email: anEmail(), verified: false })
      expect((await signIn()).query).toEqual(refused)
      const [row] = await rowsOf(id)
      expect(row?.['email']).toBeNull()
      expect(row?.['id']).not.toBe(victim.user.id)
    })
  })

  describe('an address is verified', () => {
    it('links to the account that has it, and tells its owner', async () => {
      const owner = await aUser(server())
      site.github(anId(), { email: owner.email.toUpperCase() })
      const user = await signedIn()
      expect(user['id']).toBe(owner.user.id)
      expect(identitiesOf(user)).toEqual(['email', 'github'])
      expect(await auditOf(server(), user['id'])).toContain('identity_linked')
      await server().inbox.waitForMail({ to: owner.email, subject: LINKED })
      const body = { email: owner.email, password: PASSWORD }
      expect((await post(server(), '/token?grant_type=password', body)).status).toBe(200)
    })

    it('links to the account whose identity at another provider has it', async () => {
      const [email, elsewhere] = [anEmail(), anEmail()]
      site.github(anId(), { email }, { email: elsewhere, primary: false })
      const owner = await signedIn()
      // The identity of figma has the address that the account itself does not have.
      site.figma(anId(), elsewhere)
      const other = await userOf(server(), await signInWith(server(), 'figma'))
      expect(other['id']).not.toBe(owner['id'])
      site.github(anId(), { email: elsewhere })
      expect((await signedIn())['id']).toBe(other['id'])
    })

    it('counts secondary addresses that are verified, and no others', async () => {
      const owner = await aUser(server())
      site.github(anId(), { email: anEmail() }, { email: owner.email, primary: false })
      expect((await signedIn())['id']).toBe(owner.user.id)
      const other = await aUser(server())
      site.github(anId(), { email: anEmail() }, { email: other.email, primary: false, verified: false })
      expect((await signedIn())['id']).not.toBe(other.user.id)
    })

    it('does not count an identity whose own address is unverified', async () => {
      const [victim, owner] = [anEmail(), await aUser(server())]
      await server().context.db.query(
        `insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
         values ($1, $2, 'spotify', $3, $4, now(), now())`,
        [anId(), owner.user.id, anId(), JSON.stringify({ email: victim, email_verified: false })],
      )
      site.github(anId(), { email: victim })
      expect((await signedIn())['id']).not.toBe(owner.user.id)
    })

    it('links to the account whose identity has it, whoever else signed up with it and never proved it', async () => {
      const [user, email] = [await aUser(server()), anEmail()]
      site.figma(anId(), email)
      await link(server(), user.access_token, 'figma')
      await post(server(), '/signup', { email, password: 'of the stranger' })
      site.github(anId(), { email })
      expect(await signedIn()).toMatchObject({ id: user.user.id, email: user.email })
    })

    it('links to the account that has another of the addresses, whoever signed up with the first', async () => {
      const [user, email] = [await aUser(server()), anEmail()]
      await post(server(), '/signup', { email, password: 'of the stranger' })
      site.github(anId(), { email }, { email: user.email, primary: false })
      expect(await signedIn()).toMatchObject({ id: user.user.id, email: user.email })
    })

    it('takes over an account that nobody proved, and its id, when no other has the address', async () => {
      const email = anEmail()
      const { body } = await post(server(), '/signup', { email, password: 'of the stranger' })
      site.github(anId(), { email: anEmail(), primary: false }, { email })
      expect(await signedIn()).toMatchObject({ id: body['id'], email })
    })

    it('does not link to an account that loses it while the sign-in waits', async () => {
      const user = await aUser(server())
      site.github(anId(), { email: user.email })
      const { waiting } = await server().context.db.transaction(async (tx) => {
        await tx.query('update users set email = $2 where id = $1', [user.user.id, anEmail()])
        await tx.query("update identities set identity_data = '{}' where user_id = $1", [user.user.id])
        const waiting = signedIn()
        await lockWaiters(server().context.db, 1)
        return { waiting }
      })
      const newcomer = await waiting
      expect(newcomer).toMatchObject({ email: user.email })
      expect(newcomer['id']).not.toBe(user.user.id)
    })

    it('ends in an error when several accounts have the addresses', async () => {
      const [one, two] = [await aUser(server()), await aUser(server())]
      site.github(anId(), { email: one.email }, { email: two.email, primary: false })
      expect((await signIn()).query).toMatchObject({
        error: 'server_error',
        error_code: 'unexpected_failure',
      })
    })

    it('takes the primary address for a new account, without a primary the last', async () => {
      const [first, primary, last] = [anEmail(), anEmail(), anEmail()]
      site.github(
        anId(),
        { email: first, primary: false },
        { email: primary },
        { email: last, primary: false },
      )
      expect(await signedIn()).toMatchObject({ email: primary })
      site.github(anId(), { email: anEmail(), primary: false }, { email: last, primary: false })
      expect(await signedIn()).toMatchObject({ email: last })
    })
  })

  describe('the account was never confirmed', () => {
    it('is taken from the person who created it: password, data, sessions and links are gone', async () => {
      const email = anEmail()
      await post(server(), '/signup', { email, password: 'of the attacker', data: { mine: 'attacker' } })
      const { token } = await mailTo(server(), email)
      site.github(anId(), { email })
      const user = await signedIn()
      expect(user).toMatchObject({ email, email_confirmed_at: expect.any(String) as unknown })
      expect(identitiesOf(user)).toEqual(['github'])
      expect(user['user_metadata']).not.toHaveProperty('mine')
      const body = { email, password: 'of the attacker' }
      expectError(await post(server(), '/token?grant_type=password', body), 400, 'invalid_credentials')
      expectError(await post(server(), '/verify', { type: 'signup', token }), 403, 'otp_expired')
    })

    it('loses identities of other providers too', async () => {
      const email = anEmail()
      site.github(anId(), { email, verified: false })
      await signIn()
      site.figma(anId(), email)
      const user = await userOf(server(), await signInWith(server(), 'figma'))
      expect(identitiesOf(user)).toEqual(['figma'])
    })

    it('a confirmed account keeps password, data and identities', async () => {
      const owner = await aUser(server(), { data: { mine: 'kept' } })
      site.github(anId(), { email: owner.email })
      const user = await signedIn()
      expect(identitiesOf(user)).toEqual(['email', 'github'])
      expect(user['user_metadata']).toMatchObject({ mine: 'kept' })
    })
  })

  describe('the new address is unverified', () => {
    it('gets one email, and the account opens once it is confirmed', async () => {
      const [id, email] = [anId(), anEmail()]
      site.github(id, { email, verified: false })
      expect((await signIn()).query).toMatchObject(NOT_LET_IN)
      const { token } = await mailTo(server(), email)
      expect((await signIn()).query).toMatchObject(NOT_LET_IN)
      expect(server().inbox.messages({ to: email })).toHaveLength(1)
      expect(await rowsOf(id)).toEqual([expect.objectContaining({ email })])
      await post(server(), '/verify', { type: 'signup', token, password: PASSWORD })
      expect(await signedIn()).toMatchObject({ email })
    })

    it('gets another email when it is due, whatever strangers have sent to it meanwhile', async () => {
      const [id, email] = [anId(), anEmail()]
      site.github(id, { email, verified: false })
      await signIn()
      server().clock.advance(900_000)
      await post(server(), '/signup', { email, password: 'of a stranger' })
      await server().settled()
      const sent = server().inbox.messages({ to: email })
      expect(sent).toHaveLength(2)
      await signIn()
      const { token } = await mailTo(server(), email, sent.at(-1))
      await post(server(), '/verify', { type: 'signup', token, password: PASSWORD })
      expect(await signedIn()).toMatchObject({ email })
    })
  })

  describe('the user is banned', () => {
    it.each(['known identity', 'found by address'])('is refused: %s', async (how) => {
      const [owner, id] = [await aUser(server()), anId()]
      site.github(id, { email: owner.email })
      if (how === 'known identity') await signedIn()
      const until = "update users set banned_until = '2040-01-01' where id = $1"
      await server().context.db.query(until, [owner.user.id])
      expect((await signIn()).query).toMatchObject({ error: 'access_denied', error_code: 'user_banned' })
      expect(await rowsOf(id)).toHaveLength(how === 'known identity' ? 1 : 0)
    })
  })

  it('makes one user and one identity of many first sign-ins at once, and lets all of them in', async () => {
    const [id, email] = [anId(), anEmail()]
    site.github(id, { email })
    const flows = await Promise.all(Array.from({ length: 8 }, () => depart(server(), 'github')))
    const answers = await Promise.all(flows.map(({ state }) => comeBack(server(), { code: 'c', state })))
    for (const answer of answers) expect(targetOf(answer).fragment).toHaveProperty('access_token')
    expect(await rowsOf(id)).toHaveLength(1)
    const { rows } = await server().context.db.query('select 1 from users where email = $1', [email])
    expect(rows).toHaveLength(1)
  })

  it('makes one user of first sign-ins at two providers at once that have one verified address', async () => {
    const email = anEmail()
    site.github(anId(), { email })
    site.figma(anId(), email)
    const both = await Promise.all([signIn(), signInWith(server(), 'figma')])
    const ids = await Promise.all(both.map(async (target) => (await userOf(server(), target))['id']))
    expect(new Set(ids).size).toBe(1)
  })
})
