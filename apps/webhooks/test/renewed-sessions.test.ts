import { describe, expect, it } from '@jest/globals'
import { type FormBrowser, lockWaiters, type Seen } from '@signet/testkit'
import { newCredential, sha256 } from '../src/credentials/credential.js'
import { aVisitor } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

/** Renews the session of a browser, as signing in and out do, while a request waits to write a row for it. */
async function renewedDuring(browser: FormBrowser, table: string, ask: () => Promise<Seen>): Promise<Seen> {
  const [before, after] = [browser.cookies.get('signet_session') ?? '', newCredential('sessionId')]
  const asked = await harness.db.transaction(async (tx) => {
    await tx.query(`lock table ${table} in share row exclusive mode`)
    const answer = ask()
    await lockWaiters(harness.db, 1)
    await tx.query('update login_sessions set id_hash = $2 where id_hash = $1', [
      sha256(before),
      sha256(after),
    ])
    return { answer }
  })
  const seen = await asked.answer
  if (browser.cookies.get('signet_session') === before) browser.cookies.set('signet_session', after)
  return seen
}

describe('a session that another tab renews in the middle of a request', () => {
  it('has the authorization request asked again', async () => {
    const { browser } = await aVisitor({ harness, oauth })
    const { client_id } = await oauth.client()
    const path = oauth.authorizeUrl(client_id).replace(harness.origin, '')
    const answer = await renewedDuring(browser, 'oauth_authorizations', () => browser.get(path))
    expect([answer.status, answer.location]).toEqual([302, path])
    expect((await browser.follow(answer)).text).toContain('Approve')
  })

  it('refuses its decision, which is then not made', async () => {
    const user = harness.identity.addUser()
    const { browser, page } = await oauth.consentPage(user)
    const decide = () => browser.submit(page, '/decision', { decision: 'approve' })
    const answer = await renewedDuring(browser, 'page_submissions', decide)
    expect([answer.status, answer.text.includes('You are signed out')]).toEqual([403, true])
    const { rows } = await harness.db.query('select 1 from oauth_grants where account_id = $1', [user.id])
    expect(rows).toEqual([])
  })

  it.each(['page_submissions', 'page_handovers'])('refuses a form of the portal at %s', async (table) => {
    const { browser, open } = await aVisitor({ harness, oauth })
    const page = await open('/signatures')
    const fields = { secret: 'x', headers: 'y', body: 'z' }
    const answer = await renewedDuring(browser, table, () => browser.submit(page, '/signatures', fields))
    expect([answer.status, answer.text.includes('You are signed out')]).toEqual([403, true])
  })
})
