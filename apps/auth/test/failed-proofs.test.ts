import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { from, many, MINUTE_MS, statuses, tokenPath } from './support/guessing.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { startSmsGateway, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

let gateway: SmsGateway
let server: TestServer
beforeAll(async () => {
  gateway = await startSmsGateway()
  server = await startServer(
    {
      ...FACTOR_ENVIRONMENT,
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_AUTOCONFIRM: 'false',
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SECURITY_SIGN_IN_ATTEMPTS: '5',
      ...gateway.env,
    },
    { smsUrls: gateway.urls },
  )
})
afterAll(async () => {
  await server.close()
  await gateway.close()
})

const NOBODY = '00000000-0000-0000-0000-000000000000'
const ATTACKER = '198.51.100.77'
/** A new network for each use, because each may send thirty requests at once. */
let networks = 0
const aNetwork = () => `203.0.113.${(networks += 1)}`

type Entry = { action: string; id: string; ip: string; traits: Json }
/** The failures that the audit log has for a name, oldest first. */
async function failuresOf(name: string, { context } = server): Promise<Entry[]> {
  const { rows } = await context.db.query<Entry>(
    `select payload ->> 'action' as action, payload ->> 'actor_id' as id, ip_address as ip, payload -> 'traits' as traits
     from audit_log_entries where payload ->> 'actor_username' = $1
       and (payload ->> 'action' = 'login_failed' or payload -> 'traits' ->> 'accepted' = 'false')
     order by created_at`,
    [name],
  )
  return rows
}
const failed = (id: string, provider: string, reason: string, ip = ATTACKER): Entry => ({
  action: 'login_failed',
  id,
  ip,
  traits: { provider, reason },
})

describe('the audit log names account and network of', () => {
  it('a wrong code by email, for accounts and for mere addresses', async () => {
    const { email, user } = await aUser(server)
    const unknown = anEmail()
    for (const to of [email, unknown]) {
      const proof = { type: 'email', email: to, token: '000000' }
      expectError(await post(server, '/verify', proof, from(ATTACKER)), 403, 'otp_expired')
    }
    expect(await failuresOf(email)).toEqual([failed(user.id, 'email', 'wrong_code')])
    expect(await failuresOf(unknown)).toEqual([failed(NOBODY, 'email', 'wrong_code')])
  })

  it('a wrong code by SMS', async () => {
    const phone = aPhone()
    await post(server, '/otp', { phone })
    const token = gateway.codeFor(phone)
    const { body } = await post(server, '/verify', { type: 'sms', phone, token })
    const { id } = body['user'] as { id: string }
    const proof = { type: 'sms', phone, token: '000000' }
    expectError(await post(server, '/verify', proof, from(ATTACKER)), 403, 'otp_expired')
    expect(await failuresOf(phone)).toEqual([failed(id, 'phone', 'wrong_code')])
  })

  it('a wrong code of a change, which the account makes and not the address', async () => {
    const { email, user, access_token: token } = await aUser(server)
    const next = anEmail()
    await put(server, '/user', { email: next }, { token })
    const proof = { type: 'email_change', email: next, token: '000000' }
    await post(server, '/verify', proof, { token, ...from(ATTACKER) })
    expect(await failuresOf(email)).toEqual([failed(user.id, 'email', 'wrong_code')])
  })

  it('codes that may not be tried anymore, once however many there are', async () => {
    const { email, user } = await aUser(server)
    const guess = () => post(server, '/verify', { type: 'email', email, token: '000000' }, from(aNetwork()))
    await many(40, guess)
    const reasons = (await failuresOf(email)).map(({ traits }) => traits['reason'])
    expect(reasons.filter((reason) => reason === 'wrong_code')).toHaveLength(10)
    expect(reasons.filter((reason) => reason === 'too_many_attempts')).toHaveLength(1)
    expect((await failuresOf(email)).every(({ id }) => id === user.id)).toBe(true)
  })

  it('a link that comes with a wrong verifier', async () => {
    const { email, user } = await aUser(server)
    const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }
    const [last] = server.inbox.messages({ to: email }).slice(-1)
    await post(server, '/magiclink', { email, ...challenge })
    const { token } = await mailTo(server, email, last)
    const proof = { type: 'magiclink', token, code_verifier: 'y'.repeat(43) }
    expectError(await post(server, '/verify', proof, from(ATTACKER)), 400, 'bad_code_verifier')
    expect(await failuresOf(email)).toEqual([failed(user.id, 'email', 'bad_code_verifier')])
  })

  it('a banned person with the right code', async () => {
    const { email, user } = await aUser(server)
    const [last] = server.inbox.messages({ to: email }).slice(-1)
    await post(server, '/magiclink', { email })
    const { code } = await mailTo(server, email, last)
    await put(server, `/admin/users/${user.id}`, { ban_duration: '1h' }, { token: serviceToken() })
    const proof = { type: 'email', email, token: code }
    expectError(await post(server, '/verify', proof, from(ATTACKER)), 403, 'user_banned')
    expect(await failuresOf(email)).toEqual([failed(user.id, 'email', 'user_banned')])
  })

  it('passwords that may not be tried anymore, once an hour however many there are', async () => {
    const { email, user } = await aUser(server)
    const unknown = anEmail()
    for (const to of [email, unknown]) {
      const guess = () => post(server, tokenPath, { email: to, password: 'wrong password' }, from(aNetwork()))
      expect(statuses(await many(30, guess)).filter((status) => status === 429)).toHaveLength(25)
      const id = to === email ? user.id : NOBODY
      const refusals = async () =>
        (await failuresOf(to)).filter(({ traits }) => traits['reason'] === 'too_many_attempts')
      expect(await refusals()).toMatchObject([{ action: 'login_failed', id, traits: { provider: 'email' } }])
      server.clock.advance(60 * MINUTE_MS)
      await many(10, guess)
      expect(await refusals()).toHaveLength(2)
    }
  })

  it('guesses at the current password through PUT /user that are refused', async () => {
    const { email, user, access_token: token } = await aUser(server)
    const guess = () => put(server, '/user', { password: PASSWORD }, { token, ...from(ATTACKER) })
    await many(10, guess)
    expect(await failuresOf(email)).toEqual([failed(user.id, 'email', 'too_many_attempts')])
  })
})

describe('the audit log names account and network of a session that proves nothing with', () => {
  let strict: TestServer
  beforeAll(async () => {
    strict = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
      AUTH_SECURITY_REAUTHENTICATION_GRACE: '1h',
    })
  })
  afterAll(() => strict.close())
  const change = (token: string, more: Json) =>
    put(strict, '/user', { password: 'another horse battery', ...more }, { token, ...from(ATTACKER) })

  it('a wrong current password', async () => {
    const { email, user, access_token: token } = await aUser(strict)
    const answer = await change(token, { current_password: 'wrong password' })
    expectError(answer, 400, 'current_password_invalid')
    expect(await failuresOf(email, strict)).toEqual([failed(user.id, 'email', 'wrong_password')])
  })

  it('a wrong code, and those that may not be tried, once however many there are', async () => {
    const { email, user, refresh_token } = await aUser(strict)
    strict.clock.advance(60 * MINUTE_MS)
    const { body } = await post(strict, '/token?grant_type=refresh_token', { refresh_token })
    const token = String(body['access_token'])
    for (let n = 0; n < 13; n += 1)
      expectError(await change(token, { nonce: '000000' }), 422, 'reauthentication_not_valid')
    const reasons = (await failuresOf(email, strict)).map(({ traits }) => traits['reason'])
    expect(reasons.sort()).toEqual(['too_many_attempts', ...Array<string>(10).fill('wrong_code')])
    expect((await failuresOf(email, strict))[0]).toMatchObject({ id: user.id, ip: ATTACKER })
  })
})

describe('the audit log says whether it was accepted, of', () => {
  const { enroll, challenge, codeOf, verify, raise } = factorSteps(() => server)
  const entriesOf = async (id: string, action: string) => {
    const { rows } = await server.context.db.query<{ traits: Json }>(
      `select payload -> 'traits' as traits from audit_log_entries
       where payload ->> 'actor_id' = $1 and payload ->> 'action' = $2`,
      [id, action],
    )
    return rows.map(({ traits: { accepted, reason } }) => [accepted, reason])
  }

  it('the code of a second factor, and those that may not be tried, once however many there are', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    const guess = async (code: string) =>
      verify(user, factor.id, { challenge_id: await challenge(user, factor.id), code })
    const right = codeOf(factor)
    const wrong = right === '000000' ? '111111' : '000000'
    expect((await guess(wrong)).status).toBe(422)
    expect((await guess(right)).status).toBe(200)
    // The clock of the test stands still, so the entries have no order.
    expect(new Set(await entriesOf(user.user.id, 'verification_attempted'))).toEqual(
      new Set([
        [true, undefined],
        [false, 'wrong_code'],
      ]),
    )
    const answers = []
    for (let n = 0; n < 7; n += 1) answers.push(await guess(wrong))
    expect(statuses(answers)).toEqual([422, 422, 422, 422, 429, 429, 429])
    const attempted = await entriesOf(user.user.id, 'verification_attempted')
    expect(attempted.filter(([, reason]) => reason === 'wrong_code')).toHaveLength(5)
    expect(attempted.filter(([, reason]) => reason === 'too_many_attempts')).toHaveLength(1)
  })

  it('a recovery code, and those that may not be tried, once however many there are', async () => {
    const user = await aUser(server)
    const strong = await raise(user, await enroll(user))
    await post(server, '/recovery-codes', undefined, { token: strong.access_token })
    const guess = () =>
      post(server, '/recovery-codes/verify', { code: 'aaaaa-aaaaa' }, { token: strong.access_token })
    expect(statuses(await many(8, guess)).sort()).toEqual([422, 422, 422, 422, 422, 429, 429, 429])
    const attempted = await entriesOf(user.user.id, 'recovery_code_attempted')
    expect(
      attempted.filter(([accepted, reason]) => accepted === false && reason === 'wrong_code'),
    ).toHaveLength(5)
    expect(attempted.filter(([, reason]) => reason === 'too_many_attempts')).toHaveLength(1)
  })
})
