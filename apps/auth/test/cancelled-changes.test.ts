import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import {
  anEmail,
  aPhone,
  aUser,
  call,
  get,
  PASSWORD,
  post,
  put,
  type Json,
  type SignedUp,
} from './support/api.js'
import { signInWith, userOf } from './support/fake-provider.js'
import { META } from './support/meta.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT, passkeySteps } from './support/passkeys.js'
import { anId, link, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { NO_EMAIL_GAPS, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const NEW_PHONE = aPhone()
const REUSE_INTERVAL_MS = 10_000

let site: ProviderSite
let server: TestServer
beforeAll(async () => {
  site = await startProviderSite({
    ...NO_EMAIL_GAPS,
    ...PASSKEY_ENVIRONMENT,
    AUTH_MAILER_AUTOCONFIRM: 'false',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_TEST_OTP: `${NEW_PHONE}:123456`,
    AUTH_SMS_MAX_FREQUENCY: '0',
  })
  server = site.server
})
afterAll(() => site.close())
const { register, signIn: signInWithPasskey } = passkeySteps(() => server)

const ask = async ({ access_token: token }: SignedUp) => {
  for (const change of [{ email: anEmail() }, { phone: NEW_PHONE }])
    expect((await put(server, '/user', change, { token })).status).toBe(200)
}
const pendingOf = async ({ user }: SignedUp) => {
  const { body } = await get(server, `/admin/users/${user.id}`, { token: serviceToken() })
  return Object.keys(body).filter((name) => name === 'new_email' || name === 'new_phone')
}

/** Who cancelled which change of this user's addresses, according to the audit log. */
async function cancelledOf({ user }: SignedUp) {
  const { rows } = await server.context.db.query<{ by: string; what: string }>(
    `select payload ->> 'actor_username' as by, payload -> 'traits' ->> 'cancelled' as what
     from audit_log_entries where payload ->> 'action' = 'user_modified' and payload -> 'traits' ? 'cancelled'
       and coalesce(payload -> 'traits' ->> 'user_id', payload ->> 'actor_id') = $1
     order by what`,
    [user.id],
  )
  return rows.map(({ by, what }) => `${what} by ${by === user['email'] ? 'the user' : by}`)
}

const asAdmin = (method: string, path: string, body?: Json) =>
  call(server, method, `/admin/users/${path}`, { token: serviceToken(), versioned: true, body })
const refresh = (token: string) => post(server, '/token?grant_type=refresh_token', { refresh_token: token })

/** Each returns an act that ends a session which may have asked for the change. */
const ways: [string, string, (user: SignedUp) => Promise<() => Promise<unknown>>][] = [
  [
    'a passkey that someone signed in with is removed',
    'the user',
    async (user) => {
      const authenticator = anAuthenticator()
      const { id } = await register(user, authenticator)
      await signInWithPasskey(authenticator)
      return () => call(server, 'DELETE', `/passkeys/${id}`, { token: user.access_token })
    },
  ],
  [
    'an administrator removes it',
    'service_role',
    async (user) => {
      const authenticator = anAuthenticator()
      const { id } = await register(user, authenticator)
      await signInWithPasskey(authenticator)
      return () => asAdmin('DELETE', `${user.user.id}/passkeys/${id}`)
    },
  ],
  [
    'an identity that someone signed in with is unlinked',
    'the user',
    async (user) => {
      site.figma(anId(), user.email)
      const linked = await userOf(server, await link(server, user.access_token, 'figma'))
      await userOf(server, await signInWith(server, 'figma'))
      const figma = (linked['identities'] as Json[]).find(({ provider }) => provider === 'figma')
      const path = `/user/identities/${String(figma?.['identity_id'])}`
      return () => call(server, 'DELETE', path, { token: user.access_token })
    },
  ],
  [
    'the user signs out everywhere',
    'the user',
    (user) => Promise.resolve(() => post(server, '/logout', undefined, { token: user.access_token })),
  ],
  [
    'an administrator sets a password',
    'service_role',
    ({ user }) => Promise.resolve(() => asAdmin('PUT', user.id, { password: 'another horse battery' })),
  ],
  [
    'an administrator bans the user',
    'service_role',
    ({ user }) => Promise.resolve(() => asAdmin('PUT', user.id, { ban_duration: '1h' })),
  ],
  [
    'an administrator bans the user and sets a password',
    'service_role',
    ({ user }) =>
      Promise.resolve(() =>
        asAdmin('PUT', user.id, { ban_duration: '1h', password: 'another horse battery' }),
      ),
  ],
  [
    'a refresh token is used twice',
    'the user',
    async (user) => {
      await refresh(user.refresh_token)
      return () => {
        server.clock.advance(REUSE_INTERVAL_MS + 1)
        return refresh(user.refresh_token)
      }
    },
  ],
  [
    'the user asks for the deletion of the account',
    'the user',
    async ({ access_token: token }) => {
      const { sub = '', session_id: id } = decodeJwt(token)
      const live = await server.context.gate.find(sub, String(id))
      if (live === null) throw new Error('the session is over')
      return () => server.context.deletions.request(live, { password: PASSWORD, nonce: '' }, META)
    },
  ],
]

describe('a change of address (docs/specification.md#audit-log)', () => {
  it.each(ways)('is cancelled, and that is recorded, when %s', async (_name, by, begin) => {
    const user = await aUser(server)
    const act = await begin(user)
    await ask(user)
    expect(await pendingOf(user)).toEqual(['new_email', 'new_phone'])
    await act()
    expect(await pendingOf(user)).toEqual([])
    expect(await cancelledOf(user)).toEqual([`email by ${by}`, `phone by ${by}`])
  })

  it.each(ways)('leaves no entry if there was none when %s', async (_name, _by, begin) => {
    const user = await aUser(server)
    await (
      await begin(user)
    )()
    expect(await cancelledOf(user)).toEqual([])
  })
})
