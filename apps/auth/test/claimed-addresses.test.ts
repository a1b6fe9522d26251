import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, mailTo, post, put, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { startSmsGateway, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

const admin = { token: serviceToken(), versioned: true }
const STRANGERS = 'of the stranger'
const GIVEN = 'given by the administrator'

let gateway: SmsGateway
let server: TestServer
beforeAll(async () => {
  gateway = await startSmsGateway()
  server = await startServer(
    { ...NO_EMAIL_GAPS, AUTH_EXTERNAL_PHONE_ENABLED: 'true', ...gateway.env },
    { smsUrls: gateway.urls },
  )
})
afterAll(async () => {
  await server.close()
  await gateway.close()
})

const create = (body: Json) => post(server, '/admin/users', body, admin)
const signIn = (address: Json, password: string) =>
  post(server, '/token?grant_type=password', { ...address, password })
/** An address that a stranger signed up with and has not proven, and the link that the sign-up sent. */
const aClaimedEmail = async () => {
  const email = anEmail()
  await post(server, '/signup', { email, password: STRANGERS, data: { from: 'stranger' } })
  return { email, link: (await mailTo(server, email)).token }
}
const aClaimedPhone = async () => {
  const phone = aPhone()
  await post(server, '/signup', { phone, password: STRANGERS })
  return { phone, code: gateway.codeFor(phone) }
}
const usersWith = async ({ email, phone }: { email?: string; phone?: string }) => {
  const { rows } = await server.context.db.query<{ id: string }>(
    'select id from users where email = $1 or phone = $2',
    [email, phone],
  )
  return rows.map(({ id }) => id)
}

describe('an address that a stranger has only claimed', () => {
  it('is free for an account that an administrator creates, and the claim is deleted', async () => {
    const [{ email, link }, { phone, code }] = [await aClaimedEmail(), await aClaimedPhone()]
    const { status, body } = await create({ email, phone, password: GIVEN, email_confirm: true })
    expect(status).toBe(200)
    expect(body['user_metadata']).toEqual({ email_verified: true })
    expect(await usersWith({ email, phone })).toEqual([body['id']])
    expect((await signIn({ email }, GIVEN)).status).toBe(200)
    expectError(await signIn({ email }, STRANGERS), 400, 'invalid_credentials')
    const verify = (proof: Json) => post(server, '/verify', proof, { versioned: true })
    expectError(await verify({ type: 'signup', token_hash: link }), 403, 'otp_expired')
    expectError(await verify({ type: 'sms', phone, token: code }), 403, 'otp_expired')
  })

  it('is free for an account that an administrator changes', async () => {
    const { user } = await aUser(server)
    const [{ email }, { phone }] = [await aClaimedEmail(), await aClaimedPhone()]
    const changed = await put(server, `/admin/users/${user.id}`, { email, phone }, admin)
    expect(changed.body).toMatchObject({ id: user.id, email, phone })
    expect(await usersWith({ email, phone })).toEqual([user.id])
  })

  it('is free for the link of an email change', async () => {
    const { email } = await aUser(server)
    const { email: new_email } = await aClaimedEmail()
    const body = { type: 'email_change_new', email, new_email }
    expect((await post(server, '/admin/generate_link', body, admin)).status).toBe(200)
  })

  it('is taken once an administrator has entered or invited it', async () => {
    const { email } = await aClaimedEmail()
    expect((await post(server, '/invite', { email }, admin)).status).toBe(200)
    expectError(await create({ email }), 422, 'email_exists')
    const { email: made } = (await create({ email: anEmail() })).body
    expectError(await create({ email: made }), 422, 'email_exists')
  })

  it('goes to exactly one of many administrators in parallel', async () => {
    const { email } = await aClaimedEmail()
    const answers = await Promise.all(Array.from({ length: 5 }, () => create({ email })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422])
    expect(await usersWith({ email })).toHaveLength(1)
  })
})
