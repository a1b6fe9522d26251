import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, PASSWORD, post, put } from './support/api.js'
import { comeBack, depart, targetOf } from './support/fake-provider.js'
import { META } from './support/meta.js'
import {
  anId,
  confirmLink,
  linkAddress,
  startProviderSite,
  type ProviderSite,
} from './support/provider-site.js'
import { NO_EMAIL_GAPS } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let site: ProviderSite
beforeAll(async () => {
  site = await startProviderSite({
    ...NO_EMAIL_GAPS,
    AUTH_RATE_LIMIT_HEADER: 'X-Client',
    AUTH_RATE_LIMIT_EMAIL_SENT: '100000',
    AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '100000',
    // The fake provider and all visitors who come back at once share a machine that may be busy.
    AUTH_API_MAX_REQUEST_DURATION: '120s',
  })
  // Each code names its visitor, so that many of them may come back at once.
  site.provider.answer('POST /login/oauth/access_token', ({ form }) => ({
    body: { access_token: form['code'], token_type: 'bearer' },
  }))
  const visitor = (authorization = '') =>
    JSON.parse(Buffer.from(authorization.replace(/^\w+ /, ''), 'base64url').toString()) as {
      id: string
      email: string
    }
  site.provider.answer('GET /api/v3/user', ({ headers }) => {
    const { id } = visitor(headers['authorization'])
    return { body: { id, login: `login-${id}` } }
  })
  site.provider.answer('GET /api/v3/user/emails', ({ headers }) => ({
    body: [{ email: visitor(headers['authorization']).email, verified: true, primary: true }],
  }))
})
afterAll(() => site.close())

let clients = 0
const aClient = () => ({ headers: { 'X-Client': `client ${(clients += 1)}` }, settle: false })
const rowsOf = async (email: string) =>
  (await site.server.context.db.query('select id from users where email = $1', [email])).rows
const errorsLogged = () => site.server.lines.filter(({ level }) => level === 'error')

/** `identity_already_exists` is for users who link an identity that someone else has meanwhile signed in with or linked. */
const EXPECTED = new Set(['signed in', 'identity_already_exists', '200'])

/** Returns from the provider, and reports whether that ends with a session or an error code. */
async function back(state: string, visitor: { id: string; email: string }): Promise<string> {
  const code = Buffer.from(JSON.stringify(visitor)).toString('base64url')
  const { fragment, query } = targetOf(await comeBack(site.server, { code, state }))
  return fragment['access_token'] === undefined ? (query['error_code'] ?? 'nothing') : 'signed in'
}

describe('one account at a provider', () => {
  it.each([
    ['an anonymous user who links it and somebody who signs in', ['link', 'sign in']],
    ['two anonymous users who link it', ['link', 'link']],
    [
      'two anonymous users, a sign-in, and others who sign up with the address',
      ['link', 'link', 'sign in', 'sign up'],
    ],
  ])('gets one user and no other errors from %s, all at once', async (_, acts) => {
    const visitors = Array.from({ length: 12 }, () => ({ id: anId(), email: anEmail() }))
    const begun = visitors.flatMap((visitor) => acts.map((act) => ({ act, visitor })))
    const ready = await Promise.all(
      begun.map(async ({ act, visitor }) => {
        if (act === 'sign up') {
          const body = { email: visitor.email, password: PASSWORD }
          return async () => String((await post(site.server, '/signup', body, aClient())).status)
        }
        const anonymous = act === 'link' && (await post(site.server, '/signup', {}, aClient()))
        const { state } = anonymous
          ? await confirmLink(
              site.server,
              await linkAddress(site.server, String(anonymous.body['access_token']), 'github'),
            )
          : await depart(site.server, 'github')
        return () => back(state, visitor)
      }),
    )
    const ends = await Promise.all(ready.map((run) => run()))
    expect([ends.filter((end) => !EXPECTED.has(end)), errorsLogged()]).toEqual([[], []])
    for (const visitor of visitors) await expectOneUser(visitor)
  })

  it('gets the address that it vouches for, also when somebody signs up with it between two looks at who has it', async () => {
    const visitor = { id: anId(), email: anEmail() }
    const { users } = site.server.context.stores
    const find = users.findByEmail.bind(users)
    let signUp: Promise<unknown> | undefined
    users.findByEmail = async (db, email) => {
      const found = await find(db, email)
      if (email === visitor.email && signUp === undefined)
        await (signUp = post(site.server, '/signup', { email, password: PASSWORD }, aClient()))
      return found
    }
    const { state } = await depart(site.server, 'github')
    expect(await back(state, visitor).finally(() => (users.findByEmail = find))).toBe('signed in')
    await expectOneUser(visitor)
  })
})

async function expectOneUser({ id, email }: { id: string; email: string }): Promise<void> {
  const { rows } = await site.server.context.db.query<{ user_id: string }>(
    'select user_id from identities where provider_id = $1',
    [id],
  )
  expect(rows).toHaveLength(1)
  expect(await rowsOf(email)).toEqual([{ id: rows[0]?.user_id }])
}

describe('transactions that need the same users', () => {
  it('in opposite orders both succeed', async () => {
    const { audit, stores } = site.server.context
    const { users } = stores
    const [one, other] = [await aUser(site.server), await aUser(site.server)]
    const ids = [one.user.id, other.user.id]
    let waiting = 0
    let meet = (): void => undefined
    const met = new Promise<void>((resolve) => (meet = resolve))
    const run = ([first = '', second = '']: string[]) =>
      audit.transaction(META, async (tx) => {
        await users.lockById(tx, first)
        waiting += 1
        if (waiting === 2) meet()
        await met
        return (await users.lockById(tx, second))?.id
      })
    expect(await Promise.all([run(ids), run([...ids].reverse())])).toEqual([...ids].reverse())
  })

  it('because two addresses go to and fro between them never end in a conflict', async () => {
    const token = serviceToken()
    const [one, other] = [await aUser(site.server), await aUser(site.server)]
    const codes = new Set<unknown>()
    const program = async (id: string, k: number) => {
      for (let n = 0; n < 12; n += 1) {
        const email = [one.email, other.email, anEmail()][(n + k) % 3]
        const { status, body } = await put(
          site.server,
          `/admin/users/${id}`,
          { email },
          { token, settle: false },
        )
        codes.add(status === 200 ? 200 : body['error_code'])
      }
    }
    const programs = Array.from({ length: 16 }, (_, k) => program((k % 2 ? one : other).user.id, k))
    await Promise.all(programs)
    expect([...codes].sort()).toEqual([200, 'email_exists'])
  })
})
