import { afterEach, describe, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { anEmail, aUser, expectError, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const HOUR = 3_600_000
const MINE = 'the password of a stranger'

/** Waits until the sign-up is gone. As long as it is kept, anyone who tries its password is asked to confirm the address. */
const waitForItsEnd = (server: TestServer, email: string) =>
  waitFor(async () => {
    const { text } = await post(server, '/token?grant_type=password', { email, password: MINE })
    return text.includes('invalid_credentials')
  })

describe('a sign-up whose messages are never delivered ends whether or not the address has an account', () => {
  let server: TestServer
  afterEach(() => server.close())

  it('when the mail server refuses only the second message', async () => {
    server = await startServer()
    const addresses = [(await aUser(server)).email, anEmail()]
    server.clock.advance(HOUR)
    server.inbox.fail({ at: 'recipient', code: 450 })
    for (const email of addresses) await post(server, '/signup', { email, password: MINE })
    server.clock.advance(HOUR)
    for (const email of addresses) await post(server, '/resend', { type: 'signup', email })
    server.inbox.fail({ at: 'recipient', code: 550 })
    server.clock.advance(HOUR)
    for (const email of addresses) await waitForItsEnd(server, email)
  })

  it('but not when only a message that was requested again is refused', async () => {
    server = await startServer({ AUTH_SMTP_MAX_FREQUENCY: '0' })
    const addresses = [(await aUser(server)).email, anEmail()]
    for (const email of addresses) await post(server, '/signup', { email, password: MINE })
    server.inbox.fail({ at: 'recipient', code: 550 })
    for (const email of addresses) await post(server, '/resend', { type: 'signup', email })
    server.inbox.fail(null)
    for (const email of addresses)
      expectError(
        await post(server, '/token?grant_type=password', { email, password: MINE }),
        400,
        'email_not_confirmed',
      )
  })

  it.each([
    ['shorter', '12h'],
    ['longer', '72h'],
  ])('when its link has expired, also if notices live %s', async (_, notices) => {
    server = await startServer({ AUTH_MAILER_NOTIFICATIONS_EXP: notices })
    const addresses = [(await aUser(server)).email, anEmail()]
    server.clock.advance(HOUR)
    server.inbox.fail({ at: 'recipient', code: 450 })
    for (const email of addresses) await post(server, '/signup', { email, password: MINE })
    server.clock.advance(24 * HOUR)
    for (const email of addresses) await waitForItsEnd(server, email)
  })
})
