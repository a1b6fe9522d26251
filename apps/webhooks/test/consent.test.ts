import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { pkce } from './support/pkce.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

describe('the consent page', () => {
  it('says who asks, where it leads, for whom, what and how long, and links nothing external', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client({ client_name: 'Mäx & Co', logo_uri: 'https://tool.example/logo.png' })
    const browser = oauth.browser()
    const page = await oauth.signIn(browser, await browser.get(oauth.authorizeUrl(client.client_id)), user)
    expect(page.status).toBe(200)
    for (const text of [
      'Mäx &#38; Co',
      'Not verified',
      'an application on this computer',
      user.email,
      'until you revoke it, or 90 days without use',
    ])
      expect(page.text).toContain(text)
    expect(page.text).not.toMatch(/https?:\/\//)
    expect(page.text).not.toContain('some state')
  })

  it('says that the access of a client that cannot refresh lasts an hour', async () => {
    const { client_id } = await oauth.client({ grant_types: ['authorization_code'] })
    const browser = oauth.browser()
    const asked = await browser.get(oauth.authorizeUrl(client_id))
    const page = await oauth.signIn(browser, asked, harness.identity.addUser())
    expect(page.text).toContain('Access lasts one hour at most')
    expect((await browser.get(oauth.authorizeUrl(client_id))).text).toContain('Access lasts one hour at most')
  })

  it('is shown every time, with a session without signing in again', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const { browser } = await oauth.authorize(client, user)
    const again = await browser.get(oauth.authorizeUrl(client.client_id))
    expect(again.text).toContain('Approve')
  })

  it.each(['login', 'select_account', 'consent login'])(
    'asks for a new sign-in with prompt=%s',
    async (prompt) => {
      const user = harness.identity.addUser()
      const client = await oauth.client()
      const { browser } = await oauth.authorize(client, user)
      const page = await browser.get(
        `${oauth.authorizeUrl(client.client_id)}&prompt=${encodeURIComponent(prompt)}`,
      )
      expect(page.location).toContain('/ui?')
      const consent = await oauth.signIn(browser, page, user)
      const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
      expect(location).toContain('code=svc_')
    },
  )

  it('cannot be skipped by deciding with the old sign-in after prompt=login', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const { browser } = await oauth.authorize(client, user)
    const page = await browser.get(`${oauth.authorizeUrl(client.client_id)}&prompt=login`)
    const txn = oauth.txnOf(page)
    const consent = await browser.get(`/oauth/authorize/consent?txn=${txn}`)
    expect(consent.text).toContain('Sign in to continue')
    // A form token for the decision does not help either. No page has contained one, so the test computes it.
    const { rows } = await harness.db.query<{ csrfKey: Buffer }>(
      'select csrf_key as "csrfKey" from login_sessions where account_id = $1',
      [user.id],
    )
    const csrf = createHmac('sha256', rows[0]?.csrfKey ?? '')
      .update(`${txn}.decision`)
      .digest('base64url')
    const answer = await browser.post('/oauth/authorize/decision', { txn, csrf, decision: 'approve' })
    expect([answer.status, answer.location]).toEqual([400, null])
  })

  describe('a button that is pressed twice', () => {
    const pressTwice = async (first: string, second: string) => {
      const { browser, page } = await oauth.consentPage(harness.identity.addUser())
      return Promise.all([first, second].map((decision) => browser.submit(page, '/decision', { decision })))
    }

    it.each(['approve', 'deny'])('leads to the same place: %s', async (decision) => {
      const [first, second] = await pressTwice(decision, decision)
      expect(first?.location).toMatch(decision === 'approve' ? /code=svc_/ : /error=access_denied/)
      expect(second?.location).toBe(first?.location)
    })

    it('decides once when two different ones are pressed', async () => {
      const answers = await pressTwice('approve', 'deny')
      expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 400])
    })

    it('leads nowhere once the application has used its code', async () => {
      const user = harness.identity.addUser()
      const client = await oauth.client()
      const { verifier, challenge } = pkce()
      const browser = oauth.browser()
      const start = await browser.get(oauth.authorizeUrl(client.client_id, { code_challenge: challenge }))
      const consent = await oauth.signIn(browser, start, user)
      const press = () => browser.submit(consent, '/decision', { decision: 'approve' })
      const code = new URL((await press()).location ?? '').searchParams.get('code') ?? ''
      await oauth.exchange(client, { code, verifier })
      const again = await press()
      expect([again.status, again.location]).toEqual([400, null])
      expect(again.text).toContain('already answered')
    })
  })

  it('lets the user change the account', async () => {
    const [first, second] = [harness.identity.addUser(), harness.identity.addUser()]
    const client = await oauth.client()
    const { verifier, challenge } = pkce()
    const browser = oauth.browser()
    const start = await browser.get(oauth.authorizeUrl(client.client_id, { code_challenge: challenge }))
    const consent = await oauth.signIn(browser, start, first)
    const signIn = await browser.submit(consent, '/logout')
    expect(new URL(signIn.location ?? '').searchParams.get('prompt')).toBe('select_account')
    const other = await oauth.signIn(browser, signIn, second)
    expect(other.text).toContain(second.email)
    const { location } = await browser.submit(other, '/decision', { decision: 'approve' })
    const code = new URL(location ?? '').searchParams.get('code') ?? ''
    expect((await oauth.exchange(client, { code, verifier })).body.email).toBe(second.email)
  })
})
