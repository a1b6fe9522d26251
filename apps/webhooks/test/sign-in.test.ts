import { describe, expect, it } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import { queriesDuring } from './support/queries.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_IDENTITY_CLIENT_IP_HEADER: 'X-Client-Address' } })

async function consentPage() {
  const user = harness.identity.addUser()
  return { user, ...(await oauth.consentPage(user)) }
}

describe('headers of pages', () => {
  it('refuse framing, load nothing, name no form-action and keep the origin on our own posts', async () => {
    const { headers, text } = (await oauth.signInPage()).page
    const policy = headers.get('content-security-policy') ?? ''
    const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(policy).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(text).toContain(`<style nonce="${nonce}">`)
    expect(text).not.toContain('<script')
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'referrer-policy': 'same-origin',
    })
    expect(headers.has('cross-origin-opener-policy')).toBe(false)
    expect(headers.has('strict-transport-security')).toBe(false)
  })

  it('are the same on error pages', async () => {
    const { headers, text } = await oauth.browser().get(oauth.authorizeUrl('svcl_unknown'))
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src [^;]+; base-uri 'none'; f/,
    )
    expect(text).not.toContain('<script')
  })
})

describe('refused sign-ins', () => {
  it('look the same for a wrong password, an unknown, an unconfirmed and a banned user', async () => {
    const good = harness.identity.addUser()
    const banned = harness.identity.addUser({ banned: true })
    const unconfirmed = harness.identity.addUser({ confirmed: false })
    const attempts = [
      { identifier: good.email, password: 'wrong' },
      { identifier: 'nobody@example.com', password: 'wrong' },
      { identifier: banned.email, password: banned.password },
      { identifier: unconfirmed.email, password: unconfirmed.password },
    ]
    const seen = []
    for (const attempt of attempts) {
      const { browser, page } = await oauth.signInPage()
      const { status, text } = await browser.submit(page, '/login', attempt)
      expect(text).toContain('role="alert"')
      expect(text).not.toContain(attempt.password)
      seen.push([status, /role="alert">([^<]*)/.exec(text)?.[1]])
    }
    expect(new Set(seen.map((entry) => JSON.stringify(entry))).size).toBe(1)
    expect(seen[0]?.[0]).toBe(400)
  })

  it('cost the same work and similar time, whatever is wrong', async () => {
    const user = harness.identity.addUser()
    const banned = harness.identity.addUser({ banned: true })
    const attempts = {
      wrongPassword: { identifier: user.email, password: 'wrong' },
      unknown: { identifier: 'nobody@example.com', password: 'wrong' },
      banned: { identifier: banned.email, password: banned.password },
    }
    await holdsInSomeRun(async () => {
      const { browser, page } = await oauth.signInPage()
      const work: Record<string, unknown> = {}
      const times: Record<string, number[]> = {}
      for (let round = 0; round < 15; round += 1) {
        for (const [name, attempt] of Object.entries(attempts)) {
          const asked = harness.identity.asked.length
          const startedAt = performance.now()
          const queries = await queriesDuring(harness.db, () => browser.submit(page, '/login', attempt))
          times[name] = [...(times[name] ?? []), performance.now() - startedAt]
          work[name] = { queries, calls: harness.identity.asked.slice(asked).map(({ path }) => path) }
        }
      }
      expect(work['unknown']).toMatchObject({ calls: ['/token?grant_type=password'] })
      expect(work).toEqual({
        wrongPassword: work['unknown'],
        unknown: work['unknown'],
        banned: work['unknown'],
      })
      const medians = Object.values(times).map((all) => all.sort((a, b) => a - b)[7] ?? 0)
      // Rounds alternate, so a busy machine slows all of them; a password hash more would be far beyond this.
      expect(Math.max(...medians)).toBeLessThan(2 * Math.min(...medians) + 10)
    })
  })

  it('leave the transaction usable', async () => {
    const user = harness.identity.addUser()
    const { browser, page } = await oauth.signInPage()
    const refused = await browser.submit(page, '/login', { identifier: user.email, password: 'wrong' })
    expect(refused.text).toContain(`value="${user.email.replace('@', '@')}"`)
    expect((await oauth.signIn(browser, refused, user)).text).toContain('Approve')
  })

  it.each([
    ['busy', 429, 429],
    ['broken', 500, 503],
  ])(
    'when the identity server is %s: a page, no redirect, and the transaction stays usable',
    async (_, upstream, status) => {
      const user = harness.identity.addUser()
      const { browser, page } = await oauth.signInPage()
      harness.identity.failWith({ status: upstream })
      const answer = await browser.submit(page, '/login', { identifier: user.email, password: user.password })
      harness.identity.failWith(null)
      expect([answer.status, answer.location]).toEqual([status, null])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await oauth.signIn(browser, page, user)).text).toContain('Approve')
    },
  )

  it('when the identity server does not answer within five seconds: 503', async () => {
    const { browser, page } = await oauth.signInPage()
    harness.identity.failWith({ status: 500, hang: true })
    const started = performance.now()
    const { status } = await browser.submit(page, '/login', { identifier: 'a@example.com', password: 'x' })
    harness.identity.failWith(null)
    expect(status).toBe(503)
    expect(performance.now() - started).toBeLessThan(7000)
  })
})

describe('what the identity server is asked', () => {
  it('an email address or a phone number, with the address of the browser', async () => {
    const byPhone = harness.identity.addUser({ phone: '+4915112345678' })
    const { browser, page } = await oauth.signInPage()
    const answer = await browser.submit(page, '/login', {
      identifier: ' +4915112345678 ',
      password: byPhone.password,
      captcha_token: 'solved',
    })
    expect(answer.status).toBe(303)
    const asked = harness.identity.asked.at(-1)
    expect(asked).toMatchObject({
      method: 'POST',
      path: '/token?grant_type=password',
      body: { phone: '+4915112345678', password: byPhone.password, captcha_token: 'solved' },
    })
    expect(asked?.headers['x-client-address']).toBe('127.0.0.1')
  })

  it('never a logout: it would end every session of the user', async () => {
    const { browser, page } = await consentPage()
    await browser.submit(page, '/logout')
    expect(harness.identity.asked.filter(({ path }) => path.includes('logout'))).toEqual([])
  })
})

describe('answers to posts', () => {
  it('are 303, and the password appears in no URL, redirect or log line', async () => {
    const user = harness.identity.addUser({ password: 'unmistakable-passphrase' })
    const { browser, page } = await oauth.signInPage()
    const answer = await browser.submit(page, '/login', { identifier: user.email, password: user.password })
    expect(answer.status).toBe(303)
    const consent = await browser.follow(answer)
    const decision = await browser.submit(consent, '/decision', { decision: 'approve' })
    expect(decision.status).toBe(303)
    const wrong = await oauth.signInPage()
    await wrong.browser.submit(wrong.page, '/login', {
      identifier: user.email,
      password: `${user.password}x`,
    })
    const traces = [answer.location, decision.location, ...harness.logLines].join('\n')
    expect(traces).not.toContain('unmistakable-passphrase')
  })
})
