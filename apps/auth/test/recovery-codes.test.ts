import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { aUser, expectError, get, post, type Json, type SignedUp } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps, methodsOf, type Enrolled } from './support/factors.js'
import { from, many, statuses } from './support/guessing.js'
import { startServer, type TestServer } from './support/server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    ...FACTOR_ENVIRONMENT,
    AUTH_SECURITY_SIGN_IN_ATTEMPTS: '5',
    AUTH_MAILER_NOTIFICATIONS_MFA_RECOVERY_CODES_CREATED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_MFA_RECOVERY_CODE_USED_ENABLED: 'true',
  })
})
afterAll(() => server.close())
const { enroll, raise, signIn, refresh, unenroll } = factorSteps(() => server)

type Bearer = { access_token: string }
const make = (user: Bearer) => post(server, '/recovery-codes', undefined, { token: user.access_token })
const use = (user: Bearer, code: string, options = {}) =>
  post(server, '/recovery-codes/verify', { code }, { token: user.access_token, ...options })
const left = async (user: Bearer) =>
  (await get(server, '/recovery-codes', { token: user.access_token })).body['codes_left']

/** Someone with a factor, a strong session and a fresh set of codes. */
async function withCodes(): Promise<{ user: SignedUp; strong: Bearer; factor: Enrolled; codes: string[] }> {
  const user = await aUser(server)
  const factor = await enroll(user)
  const strong = await raise(user, factor)
  const made = await make(strong)
  expect(made.status).toBe(200)
  return { user, strong, factor, codes: made.body['codes'] as string[] }
}

describe('recovery codes', () => {
  it('are ten, are shown once, and leave nothing to read in the database', async () => {
    const { user, strong, codes } = await withCodes()
    expect(codes).toHaveLength(10)
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) expect(code).toMatch(/^[2-9a-hijkmnp-z]{5}-[2-9a-hijkmnp-z]{5}$/)
    const answer = await get(server, '/recovery-codes', { token: strong.access_token })
    expect(answer.body).toEqual({ codes_left: 10, created_at: server.clock.now().toISOString() })
    const { rows } = await server.context.db.query<Json>(
      'select encode(code_hash, $2) as hash from mfa_recovery_codes where user_id = $1',
      [user.user.id, 'escape'],
    )
    expect(JSON.stringify(rows)).not.toContain(codes[0]?.slice(0, 5))
    await server.inbox.waitForMail({ to: user.email, subject: /New recovery codes/ })
  })

  it('raise a session to aal2, typed in any way, each of them once', async () => {
    const { user, codes } = await withCodes()
    const [code = ''] = codes
    const session = await signIn(user)
    const used = await use(session, ` ${code.toUpperCase().replace('-', ' ')} `)
    expect(used.status).toBe(200)
    const token = used.body['access_token'] as string
    expect(decodeJwt(token)).toMatchObject({ aal: 'aal2' })
    expect(methodsOf(token)).toEqual(['mfa/recovery_code', 'password'])
    expect(await left({ access_token: token })).toBe(9)
    expectError(await use(await signIn(user), code), 422, 'mfa_verification_failed', /wrong or was used/)
    const notice = await server.inbox.waitForMail({ to: user.email, subject: /A recovery code was used/ })
    expect(notice.text).toContain('Codes left: 9.')
  })

  it('are spent by exactly one of many simultaneous callers', async () => {
    const { user, codes } = await withCodes()
    const sessions = await Promise.all(Array.from({ length: 4 }, () => signIn(user)))
    const answers = await Promise.all(sessions.map((session) => use(session, codes[0] ?? '')))
    // The winner ends the weaker sessions of the others, unless they came first and were refused.
    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(1)
  })

  it('are spent by the statement itself, even if another transaction holds the row', async () => {
    const { user, codes } = await withCodes()
    const { db, stores, recoveryCodes } = server.context
    const { rows } = await db.query<{ code_hash: Buffer }>(
      'select code_hash from mfa_recovery_codes where user_id = $1 limit 1',
      [user.user.id],
    )
    const hash = rows[0]?.code_hash ?? Buffer.alloc(32)
    const spends = await Promise.all(
      Array.from({ length: 8 }, () =>
        db.transaction((tx) => stores.recoveryCodes.spend(tx, user.user.id, hash, server.clock.now())),
      ),
    )
    expect(spends.filter((count) => count !== null)).toEqual([9])
    expect((await recoveryCodes.count(user.user.id))?.left).toBe(codes.length - 1)
  })

  it('are replaced all at once', async () => {
    const { user, strong, codes } = await withCodes()
    const again = (await make(strong)).body['codes'] as string[]
    expect(again).toHaveLength(10)
    const session = await signIn(user)
    expectError(await use(session, codes[0] ?? ''), 422, 'mfa_verification_failed')
    expect((await use(session, again[0] ?? '')).status).toBe(200)
  })

  it('belong to one account', async () => {
    const [{ codes }, { user }] = [await withCodes(), await withCodes()]
    expectError(await use(await signIn(user), codes[0] ?? ''), 422, 'mfa_verification_failed')
  })

  it('need a verified factor and aal2 to be made', async () => {
    const user = await aUser(server)
    expectError(await make(user), 422, 'mfa_factor_not_found')
    await raise(user, await enroll(user))
    expectError(await make(await signIn(user)), 403, 'insufficient_aal')
    expect(await left(await signIn(user))).toBe(0)
    expectError(await use(await signIn(user), ' - '), 400, 'validation_failed')
  })

  it('can be guessed a few times only, from however many addresses, and parallel guesses count', async () => {
    const { user, codes } = await withCodes()
    const session = await signIn(user)
    const wrong = await many(12, (n) => use(session, `22222-2222${(n % 8) + 2}`, from(`203.0.113.${n}`)))
    expect(statuses(wrong).filter((status) => status === 422).length).toBeLessThanOrEqual(6)
    expectError(await use(session, codes[0] ?? ''), 429, 'mfa_recovery_codes_locked')
    server.clock.advance(3_600_000)
    expect((await use(await signIn(user), codes[0] ?? '')).status).toBe(200)
  })

  it('can be used at once when they are new, however many guesses there were at the ones before', async () => {
    const { user, strong } = await withCodes()
    const session = await signIn(user)
    await many(7, () => use(session, '22222-22222'))
    const { body } = await make(strong)
    expect((await use(session, (body['codes'] as string[])[0] ?? '')).status).toBe(200)
  })

  it('go with the last verified factor, and so does what they raised', async () => {
    const { user, strong, factor, codes } = await withCodes()
    const second = await enroll(strong, { friendly_name: 'second' })
    const both = await raise(strong, second)
    const recovered = (await use(await signIn(user), codes[0] ?? '')).body as {
      refresh_token: string
    } & Bearer
    expect((await unenroll(recovered, factor.id)).status).toBe(200)
    expect(await left(both)).toBe(9)
    expect((await unenroll(both, second.id)).status).toBe(200)
    expect(await left(both)).toBe(0)
    const token = (await refresh(recovered.refresh_token)).body['access_token'] as string
    expect(decodeJwt(token)).toMatchObject({ aal: 'aal1' })
    expect(methodsOf(token)).toEqual(['password'])
  })
})
