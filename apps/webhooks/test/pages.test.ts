import { describe, expect, it } from '@jest/globals'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

it('has an icon, where browsers look for it too', async () => {
  for (const path of ['/favicon.svg', '/favicon.ico']) {
    const { status, headers } = await oauth.browser().get(path)
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'image/svg+xml'])
  }
})

describe('headers of pages', () => {
  it('refuse framing, load nothing, name no form-action and keep the origin on our own posts', async () => {
    const { headers, text } = (await oauth.consentPage(harness.identity.addUser())).page
    const policy = headers.get('content-security-policy') ?? ''
    const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(policy).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`,
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
      /^default-src 'none'; style-src [^;]+; img-src 'self'; base-uri 'none'; f/,
    )
    expect(text).not.toContain('<script')
  })

  it.each(['/nowhere', '/docs/nowhere', '/sign-in/nowhere'])(
    'are on the page of an address that leads to nothing: %s',
    async (path) => {
      const page = await oauth.browser().get(path)
      expect([page.status, page.headers.get('x-frame-options')]).toEqual([404, 'DENY'])
      const program = await fetch(harness.base + path, { headers: { accept: 'application/json' } })
      expect([program.status, program.headers.get('content-type')]).toEqual([
        404,
        'application/json; charset=utf-8',
      ])
    },
  )
})
