import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, get, mailTo, PASSWORD, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin = { token: serviceToken() }
/** A well-formed address whose mailbox name is longer than SMTP allows. */
const aLongEmail = () => anEmail().replace('@', `${'x'.repeat(65)}@`)
const usersWith = async (server: TestServer, email: string) => {
  const { rows } = await server.context.db.query('select 1 from users where email = $1', [email])
  return rows.length
}

describe('an address that cannot receive email', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it.each([
    ['/signup', { password: PASSWORD }],
    ['/otp', {}],
    ['/otp', { create_user: true }],
    ['/magiclink', {}],
    ['/recover', {}],
    ['/resend', { type: 'signup' }],
    ['/invite', {}],
  ])('is refused by %s %j, and no user is created', async (path, body) => {
    const email = aLongEmail()
    expectError(await post(server, path, { ...body, email }, admin), 400, 'email_address_invalid')
    expect(await usersWith(server, email)).toBe(0)
  })

  it("is refused as a user's new address, and nothing changes", async () => {
    const user = await aUser(server)
    const asUser = { token: user.access_token }
    const answer = await put(server, '/user', { email: aLongEmail(), data: { theme: 'dark' } }, asUser)
    expectError(answer, 400, 'email_address_invalid')
    const { body } = await get(server, '/user', asUser)
    expect(body).not.toHaveProperty('new_email')
    expect(body['user_metadata']).not.toHaveProperty('theme')
  })

  it('is accepted from administrators and under autoconfirm, where no email is sent to it', async () => {
    expect((await post(server, '/admin/users', { email: aLongEmail() }, admin)).status).toBe(200)
    const silent = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    try {
      expect((await aUser(silent, { email: aLongEmail() })).access_token).toEqual(expect.any(String))
    } finally {
      await silent.close()
    }
  })
})

describe('an address that is not on the list of AUTH_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES: 'ann@example.com' })
  })
  afterAll(() => server.close())

  it('is refused without revealing whether it has an account', async () => {
    const known = anEmail()
    await post(server, '/admin/users', { email: known, password: PASSWORD, email_confirm: true }, admin)
    for (const [path, body] of [
      ['/signup', { password: PASSWORD }],
      ['/otp', { create_user: true }],
      ['/magiclink', {}],
      ['/recover', {}],
      ['/resend', { type: 'signup' }],
    ] as const) {
      const stranger = anEmail()
      // Asks twice: nothing was sent, so the second request does not come too soon.
      for (const email of [known, stranger, known, stranger])
        expectError(await post(server, path, { ...body, email }), 400, 'email_address_not_authorized')
      expect(await usersWith(server, stranger)).toBe(0)
    }
  })

  it('does not affect addresses on the list, ignoring labels', async () => {
    const email = 'ann+news@example.com'
    expect((await post(server, '/signup', { email, password: PASSWORD })).status).toBe(200)
    expect((await mailTo(server, email)).token).toEqual(expect.any(String))
  })

  it('does not reveal whether an address on the list has an account', async () => {
    const proved = { email: 'ann+proved@example.com', password: PASSWORD }
    await post(server, '/admin/users', { ...proved, email_confirm: true }, admin)
    expect((await post(server, '/signup', proved)).status).toBe(200)
  })
})
