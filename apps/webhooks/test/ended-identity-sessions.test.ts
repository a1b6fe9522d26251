import { randomBytes, randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { secretOf, sessionsEnded, teller } from './support/account-events.js'
import { aVisitor } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const KEY = randomBytes(32)
const { harness, oauth } = useOAuth({ env: { WEBHOOKS_IDENTITY_EVENTS_SECRETS: secretOf(KEY) } })
const tell = teller(harness, KEY)

it('a sign-in goes on that ends the earlier session of its browser, as with a new password', async () => {
  const user = harness.identity.addUser()
  const { client_id } = await oauth.client()
  const browser = oauth.browser()
  await oauth.signIn(browser, await browser.get('/sign-in'), user)
  const asked = await browser.get(oauth.authorizeUrl(client_id, { prompt: 'login' }))
  await tell(sessionsEnded(user, [user.sessionId]))
  user.sessionId = randomUUID()
  const consent = await oauth.signIn(browser, asked, user)
  const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
  expect(location).toContain('code=svc_')
})

it('nothing that waited for the person of a session that ended is shown to the next one', async () => {
  const { user, browser, open } = await aVisitor({ harness, oauth })
  const fields = { name: 'made before', days: '30' }
  const unopened = await browser.submit(await open('/tokens'), '/tokens', fields)
  await tell(sessionsEnded(user, [user.sessionId]))
  user.sessionId = randomUUID()
  await oauth.signIn(browser, await browser.get('/sign-in'), user)
  expect((await browser.follow(unopened)).text).not.toContain('svp_')
})
