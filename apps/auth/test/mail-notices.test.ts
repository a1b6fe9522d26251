import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { noticeKinds } from '../src/mail/kinds.js'
import { put } from './support/api.js'
import { aPerson, common, FREE_PHONE, noticeSwitches, OLD_PHONE, triggers } from './support/mail-triggers.js'
import { startProviderSite, type ProviderSite } from './support/provider-site.js'

/** Switches off the notices that are on by default. */
const QUIET = {
  AUTH_MAILER_NOTIFICATIONS_ACCOUNT_EXISTS_ENABLED: 'false',
  AUTH_MAILER_NOTIFICATIONS_ACCOUNT_DELETION_REQUESTED_ENABLED: 'false',
  AUTH_MAILER_NOTIFICATIONS_ACCOUNT_DELETED_ENABLED: 'false',
}

describe('notices (docs/specification.md#emails)', () => {
  let site: ProviderSite
  beforeAll(async () => {
    site = await startProviderSite({ ...common, ...QUIET })
  })
  afterAll(() => site.close())

  it.each(noticeKinds)('%s is not sent while its setting is off', async (kind) => {
    const to = await triggers[kind](site)
    // The requests of the tests wait for the messages they cause, so every email has arrived by now.
    for (const { subject } of site.server.inbox.messages({ to }))
      expect(['Confirm your email address', 'Confirm your new email address']).toContain(subject)
  })

  it('a phone that changes at once is reported too', async () => {
    const auto = await startProviderSite({ ...common, ...noticeSwitches, AUTH_SMS_AUTOCONFIRM: 'true' })
    try {
      const user = await aPerson(auto)
      await put(auto.server, '/user', { phone: OLD_PHONE }, user)
      expect(auto.server.inbox.messages({ to: user.email })).toHaveLength(1)
      await put(auto.server, '/user', { phone: FREE_PHONE }, user)
      await auto.server.inbox.waitForMail({ to: user.email, subject: 'Your phone number was changed' })
    } finally {
      await auto.close()
    }
  })

  it('a refused notice does not fail the request, and is given up visibly', async () => {
    const broken = await startProviderSite({ ...common, ...noticeSwitches })
    try {
      const user = await aPerson(broken)
      broken.server.inbox.fail({ at: 'message' })
      const answer = await put(broken.server, '/user', { password: 'another password' }, user)
      expect(answer.status).toBe(200)
      const entry = broken.server.lines.find(({ action }) => action === 'message_given_up')
      expect(entry?.['traits']).toMatchObject({
        kind: 'email',
        mail: 'password_changed_notification',
        reason: 'refused',
      })
    } finally {
      await broken.close()
    }
  })
})
