import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, call, expectError, get, mailTo, PASSWORD, post, type Json } from '../support/api.js'
import {
  comeBack,
  depart,
  providerEnv,
  signInWith,
  startFakeProvider,
  targetOf,
  userOf,
  type FakeProvider,
} from '../support/fake-provider.js'
import { startServer, type TestServer } from '../support/server.js'

let provider: FakeProvider
let server: TestServer
beforeAll(async () => {
  provider = await startFakeProvider({
    'POST /login/oauth/access_token': { body: { access_token: 'the-token' } },
    'POST /v1/oauth/token': { body: { access_token: 'the-token' } },
  })
  server = await startServer({
    ...providerEnv('github', provider.url),
    ...providerEnv('figma', provider.url),
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_IDENTITY_LINKED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_IDENTITY_UNLINKED_ENABLED: 'true',
  })
})
afterAll(async () => {
  await server.close()
  provider.close()
})

type Email = { email: string; verified?: boolean; primary?: boolean }

/** What github says from now on. */
function github(id: string, ...emails: Email[]): void {
  provider.answer('GET /api/v3/user', { body: { id, login: `login-${id}`, name: `Name ${id}` } })
  provider.answer('GET /api/v3/user/emails', {
    body: emails.map((entry) => ({ verified: true, primary: true, ...entry })),
  })
}

const anId = () => randomUUID()
const identitiesOf = (user: Json) => (user['identities'] as Json[]).map(({ provider: name }) => name).sort()

describe('account linking (contract 8.3)', () => {
  it('rule 1: the identity decides, and its new address does not change the account', async () => {
    const [id, email] = [anId(), anEmail()]
    github(id, { email })
    const first = await userOf(server, await signInWith(server, 'github'))
    github(id, { email: anEmail() })
    const second = await userOf(server, await signInWith(server, 'github'))
    expect(second).toMatchObject({ id: first['id'], email })
  })

  it('rule 3: an unverified address that belongs to somebody gives a user without address, who is not let in', async () => {
    const victim = await aUser(server)
    const id = anId()
    github(id, { email: victim.email, verified: false })
    const { query } = await signInWith(server, 'github')
    expect(query).toMatchObject({ error: 'access_denied', error_code: 'provider_email_needs_verification' })
    const { rows } = await server.context.db.query<Json>(
      'select u.id, u.email from users u join identities i on i.user_id = u.id where i.provider_id = $1',
      [id],
    )
    expect(rows[0]?.['email']).toBeNull()
    expect(rows[0]?.['id']).not.toBe(victim.user.id)
  })

  it('rule 4: a verified address links to the account that has it, and tells its owner', async () => {
    const owner = await aUser(server)
    github(anId(), { email: owner.email.toUpperCase() })
    const user = await userOf(server, await signInWith(server, 'github'))
    expect(user['id']).toBe(owner.user.id)
    expect(identitiesOf(user)).toEqual(['email', 'github'])
    await server.inbox.waitForMail({
      to: owner.email,
      subject: 'A new sign-in method was linked to your account.',
    })
    const body = { email: owner.email, password: PASSWORD }
    expect((await post(server, '/token?grant_type=password', body)).status).toBe(200)
  })

  it('rule 4: a verified secondary address is enough, an unverified one is not', async () => {
    const owner = await aUser(server)
    github(anId(), { email: anEmail() }, { email: owner.email, primary: false })
    expect((await userOf(server, await signInWith(server, 'github')))['id']).toBe(owner.user.id)
    const other = await aUser(server)
    github(anId(), { email: anEmail() }, { email: other.email, primary: false, verified: false })
    expect((await userOf(server, await signInWith(server, 'github')))['id']).not.toBe(other.user.id)
  })

  it('rule 4: addresses of several accounts end in an error', async () => {
    const [one, two] = [await aUser(server), await aUser(server)]
    github(anId(), { email: one.email }, { email: two.email, primary: false })
    expect((await signInWith(server, 'github')).query).toMatchObject({ error_code: 'unexpected_failure' })
  })

  it('rule 5: whoever signed up earlier with an unproved address is out', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: 'of the attacker', data: { mine: 'attacker' } })
    const { token } = await mailTo(server, email)
    github(anId(), { email })
    const user = await userOf(server, await signInWith(server, 'github'))
    expect(user).toMatchObject({ email, email_confirmed_at: expect.any(String) as unknown })
    expect(identitiesOf(user)).toEqual(['github'])
    expect(user['user_metadata']).not.toHaveProperty('mine')
    const body = { email, password: 'of the attacker' }
    expectError(await post(server, '/token?grant_type=password', body), 400, 'invalid_credentials')
    expectError(await post(server, '/verify', { type: 'signup', token }), 403, 'otp_expired')
  })

  it('rule 6: an unverified new address gets a mail; once confirmed, the account opens', async () => {
    const [id, email] = [anId(), anEmail()]
    github(id, { email, verified: false })
    expect((await signInWith(server, 'github')).query['error_code']).toBe('provider_email_needs_verification')
    const { token } = await mailTo(server, email)
    expect((await signInWith(server, 'github')).query['error_code']).toBe('provider_email_needs_verification')
    expect(server.inbox.messages({ to: email })).toHaveLength(1)
    await post(server, '/verify', { type: 'signup', token, password: PASSWORD })
    expect(await userOf(server, await signInWith(server, 'github'))).toMatchObject({ email })
  })

  it('rule 7: banned users are refused', async () => {
    const owner = await aUser(server)
    await server.context.db.query("update users set banned_until = '2040-01-01' where id = $1", [
      owner.user.id,
    ])
    github(anId(), { email: owner.email })
    expect((await signInWith(server, 'github')).query).toMatchObject({
      error: 'access_denied',
      error_code: 'user_banned',
    })
  })

  it('does not link to an account that only claims the address through an unverified identity', async () => {
    const [victim, owner] = [anEmail(), await aUser(server)]
    await server.context.db.query(
      `insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
       values ($1, $2, 'spotify', $3, $4, now(), now())`,
      [randomUUID(), owner.user.id, anId(), JSON.stringify({ email: victim, email_verified: false })],
    )
    github(anId(), { email: victim })
    expect((await userOf(server, await signInWith(server, 'github')))['id']).not.toBe(owner.user.id)
  })

  it('makes one user and one identity of many first sign-ins at once', async () => {
    const [id, email] = [anId(), anEmail()]
    github(id, { email })
    const flows = await Promise.all(Array.from({ length: 6 }, () => depart(server, 'github')))
    const answers = await Promise.all(flows.map(({ state }) => comeBack(server, { code: 'c', state })))
    for (const answer of answers) expect(targetOf(answer).fragment).toHaveProperty('access_token')
    const { rows } = await server.context.db.query('select 1 from identities where provider_id = $1', [id])
    expect(rows).toHaveLength(1)
  })
})

describe('callback (contract 1.18)', () => {
  it.each([
    ['missing', {}, 'bad_oauth_callback'],
    ['no uuid', { state: 'x' }, 'bad_oauth_state'],
    ['unknown', { state: randomUUID() }, 'bad_oauth_state'],
  ])(
    'a state that is %s goes to the site, never to a target of the caller',
    async (_name, parameters, code) => {
      const answer = await comeBack(server, {
        code: 'c',
        redirect_to: 'https://other.example.com/x',
        ...parameters,
      })
      expect(answer.status).toBe(303)
      expect(targetOf(answer)).toMatchObject({
        base: 'https://app.example.com/',
        query: { error_code: code },
      })
    },
  )

  it('an expired state is refused, and a state works once', async () => {
    github(anId(), { email: anEmail() })
    const late = await depart(server, 'github')
    server.clock.advance(300_000)
    expect(targetOf(await comeBack(server, { code: 'c', state: late.state })).query['error_code']).toBe(
      'bad_oauth_state',
    )
    const { state } = await depart(server, 'github')
    const answers = await Promise.all([1, 2, 3].map(() => comeBack(server, { code: 'c', state })))
    expect(answers.filter((answer) => 'access_token' in targetOf(answer).fragment)).toHaveLength(1)
  })

  it('PKCE ends in a code that hands out the provider tokens once; the state is used up', async () => {
    github(anId(), { email: anEmail() })
    const verifier = 'v'.repeat(64)
    const challenge = { code_challenge: verifier, code_challenge_method: 'plain' }
    const { state } = await depart(server, 'github', challenge)
    const { query, fragment } = targetOf(await comeBack(server, { code: 'c', state }))
    expect(fragment).toEqual({})
    const body = { auth_code: query['code'], code_verifier: verifier }
    const exchanged = await post(server, '/token?grant_type=pkce', body)
    expect(exchanged.body).toMatchObject({ provider_token: 'the-token', token_type: 'bearer' })
    expectError(await post(server, '/token?grant_type=pkce', body), 404, 'flow_state_not_found')
    const { state: second } = await depart(server, 'github', challenge)
    await comeBack(server, { code: 'c', state: second })
    const again = await comeBack(server, { code: 'c', state: second })
    expect(targetOf(again).query['error_code']).toBe('flow_state_already_used')
  })

  it('keeps foreign parameters of the target, and passes on what the provider says', async () => {
    const redirect_to = 'https://other.example.com/cb?keep=1&error=mine#old'
    const { state } = await depart(server, 'github', { redirect_to })
    const answer = await comeBack(server, { state, error: 'access_denied', error_description: 'no, thanks' })
    const target = targetOf(answer)
    expect(target.query).toEqual({ keep: '1', error: 'access_denied', error_description: 'no, thanks' })
    expect(target.fragment).toEqual({ error: 'access_denied', error_description: 'no, thanks', sb: '' })
  })

  it('lets no caller override what is ours, in any letter case', async () => {
    const { location } = await depart(server, 'github', {
      CLIENT_ID: 'x',
      Redirect_Uri: 'y',
      STATE: 'z',
      prompt: 'login',
    })
    expect(location.searchParams.get('prompt')).toBe('login')
    for (const name of ['CLIENT_ID', 'Redirect_Uri', 'STATE'])
      expect(location.searchParams.has(name)).toBe(false)
  })

  it.each(['pigeon', 'spotify', ''])('refuses the provider %j', async (name) => {
    expectError((await depart(server, name)).answer, 400, 'validation_failed')
  })
})

describe('identities (contract 1.19)', () => {
  const authorize = (token: string, query = 'provider=figma&skip_http_redirect=true') =>
    get(server, `/user/identities/authorize?${query}`, { token })
  const unlink = (token: string, id: unknown) =>
    call(server, 'DELETE', `/user/identities/${String(id)}`, { token })

  async function link(token: string, id: string, email: string) {
    provider.answer('GET /v1/me', { body: { id, email, handle: 'Fig' } })
    const { body } = await authorize(token)
    const state = new URL(body['url'] as string).searchParams.get('state') ?? ''
    return targetOf(await comeBack(server, { code: 'c', state }))
  }

  it('links to the caller whatever the address, and refuses an identity that is known', async () => {
    const [user, id] = [await aUser(server), anId()]
    expect(identitiesOf(await userOf(server, await link(user.access_token, id, anEmail())))).toEqual([
      'email',
      'figma',
    ])
    expect((await link(user.access_token, id, anEmail())).query['error_code']).toBe('identity_already_exists')
    const other = await aUser(server)
    expect((await link(other.access_token, id, anEmail())).query['error_code']).toBe(
      'identity_already_exists',
    )
  })

  it('makes an anonymous user permanent, with the verified address', async () => {
    const anonymous = (await post(server, '/signup', {})).body
    const email = anEmail()
    const user = await userOf(server, await link(String(anonymous['access_token']), anId(), email))
    expect(user).toMatchObject({ id: anonymous['id'], email, is_anonymous: false })
  })

  it('removes an identity, tells the previous address, and keeps the last one', async () => {
    const user = await aUser(server)
    const email = anEmail()
    const linked = await userOf(server, await link(user.access_token, anId(), email))
    const find = (name: string) =>
      (linked['identities'] as Json[]).find((entry) => entry['provider'] === name)
    const other = await aUser(server)
    expectError(await unlink(other.access_token, randomUUID()), 422, 'single_identity_not_deletable')
    expectError(await unlink(user.access_token, randomUUID()), 422, 'identity_not_found')
    expectError(await unlink(user.access_token, 'x'), 404, 'validation_failed')
    expect((await unlink(user.access_token, find('email')?.['identity_id'])).status).toBe(200)
    const { body } = await get(server, '/user', { token: user.access_token })
    expect(body).toMatchObject({ email, app_metadata: { provider: 'figma', providers: ['figma'] } })
    await server.inbox.waitForMail({
      to: user.email,
      subject: 'A sign-in method was removed from your account.',
    })
    expectError(
      await unlink(user.access_token, find('figma')?.['identity_id']),
      422,
      'single_identity_not_deletable',
    )
  })
})
