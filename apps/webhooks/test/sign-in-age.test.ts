import { describe, expect, it } from '@jest/globals'
import type { Seen } from '@signet/testkit'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

/** The address to which the sign-in page redirects after a sign-in, with a code for the user. */
const answerTo = ({ location }: Seen, user = harness.identity.addUser(), claims = {}) =>
  harness.identity.answerTo(location ?? '', user, claims)

describe('how old a sign-in may be', () => {
  const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds
  const provedAgo = (seconds: number) => ({
    amr: [
      { method: 'totp', timestamp: secondsAgo(0) },
      { method: 'password', timestamp: secondsAgo(seconds) },
    ],
  })

  async function signedIn(claims: object) {
    const browser = oauth.browser()
    await browser.get(answerTo(await browser.get('/sign-in'), harness.identity.addUser(), claims))
    const { client_id } = await oauth.client()
    return { browser, ask: (more: string) => browser.get(oauth.authorizeUrl(client_id) + more) }
  }

  it('is up to max_age, counted from the proof and not from the token', async () => {
    const { ask } = await signedIn(provedAgo(600))
    expect((await ask('&max_age=900')).text).toContain('Approve')
    expect((await ask('&max_age=300')).location).toContain('max_age=300')
    expect((await ask('&max_age=900&prompt=none')).location).toContain('error=consent_required')
    expect((await ask('&max_age=300&prompt=none')).location).toContain('error=login_required')
  })

  it('has the same tolerance for clocks with and without a page', async () => {
    const { ask } = await signedIn(provedAgo(315))
    expect((await ask('&max_age=300')).text).toContain('Approve')
    expect((await ask('&max_age=300&prompt=none')).location).toContain('error=consent_required')
  })

  it('does not go in circles with a sign-in page that does not ask again', async () => {
    const { browser, ask } = await signedIn({})
    const lazy = await browser.follow(
      await browser.get(answerTo(await ask('&prompt=login'), undefined, provedAgo(600))),
    )
    expect([lazy.status, lazy.location, lazy.text.includes('Sign in to continue')]).toEqual([200, null, true])
    const asked = await browser.get(answerTo(await ask('&prompt=login'), undefined, provedAgo(0)))
    expect((await browser.follow(asked)).text).toContain('Approve')
  })

  it('is asked for again if the sign-in was not completed, and of another account', async () => {
    const { browser, ask } = await signedIn(provedAgo(600))
    const asked = await ask('&max_age=300')
    const cancelled = new URL(answerTo(asked))
    cancelled.searchParams.delete('code')
    await browser.get(cancelled.href)
    const again = await browser.get(`/oauth/authorize/sign-in?txn=${oauth.txnOf(asked)}`)
    expect(new URL(again.location ?? '').searchParams.get('max_age')).toBe('300')
    const other = await browser.submit(await ask('&max_age=900'), '/logout')
    expect(new URL(other.location ?? '').searchParams.get('max_age')).toBe('900')
  })

  it('prompt=select_account wants a choice, not a new proof', async () => {
    const { browser, ask } = await signedIn({})
    const chosen = await browser.get(answerTo(await ask('&prompt=select_account'), undefined, provedAgo(600)))
    expect((await browser.follow(chosen)).text).toContain('Approve')
  })
})
