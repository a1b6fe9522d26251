import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, expectError, mailTo, PASSWORD, post, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

describe('CAPTCHA', () => {
  const asked: URLSearchParams[] = []
  const service = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => (text += chunk.toString()))
    req.on('end', () => {
      const form = new URLSearchParams(text)
      asked.push(form)
      const success = form.get('response') === 'human'
      res.end(JSON.stringify({ success, ...(success ? {} : { 'error-codes': ['invalid-input-response'] }) }))
    })
  })
  let server: TestServer
  beforeAll(async () => {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/siteverify`
    server = await startServer(
      {
        AUTH_UI_CAPTCHA_SITE_KEY: 'site-key',
        AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
        AUTH_SECURITY_CAPTCHA_PROVIDER: 'Turnstile',
        AUTH_SECURITY_CAPTCHA_SECRET: 'captcha-secret',
        AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'true',
        AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
        AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
      },
      { captchaUrls: { hcaptcha: url, turnstile: url } },
    )
  })
  afterAll(async () => {
    await server.close()
    service.closeAllConnections()
    service.close()
  })

  const guarded: [string, () => Json][] = [
    ['/signup', () => ({ email: anEmail(), password: PASSWORD })],
    ['/signup', () => ({ data: { anonymous: true } })],
    ['/otp', () => ({ email: anEmail() })],
    ['/magiclink', () => ({ email: anEmail() })],
    ['/recover', () => ({ email: anEmail() })],
    ['/resend', () => ({ type: 'signup', email: anEmail() })],
    ['/token?grant_type=password', () => ({ email: anEmail(), password: PASSWORD })],
  ]

  it.each(guarded)('%s requires a CAPTCHA token, in either member', async (path, body) => {
    expectError(await post(server, path, body()), 400, 'captcha_failed')
    const robot = { ...body(), captcha_token: 'robot' }
    expectError(await post(server, path, robot), 400, 'captcha_failed', /invalid-input-response/)
    const passes = async (token: Json) => {
      const answer = await post(server, path, { ...body(), ...token })
      expect(answer.text).not.toContain('captcha_failed')
    }
    await passes({ captcha_token: 'human' })
    await passes({ gotrue_meta_security: { captcha_token: 'human' } })
    await passes({ captcha_token: null, gotrue_meta_security: { captcha_token: 'human' } })
  })

  it.each([
    ['/token?grant_type=refresh_token', { refresh_token: 'A'.repeat(72) }, 'refresh_token_not_found'],
    ['/token?grant_type=pkce', { auth_code: 'x', code_verifier: 'y' }, 'flow_state_not_found'],
    ['/verify', { type: 'signup', email: 'a@example.com', token: '000000' }, 'otp_expired'],
  ])('%s does not require one', async (path, body, code) => {
    expect((await post(server, path, body)).body['error_code']).toBe(code)
  })

  it('exempts administrators', async () => {
    const body = { email: anEmail(), password: PASSWORD }
    expect((await post(server, '/signup', body, { token: serviceToken() })).status).toBe(200)
    expectError(await post(server, '/signup', body, { token: 'forged' }), 400, 'captcha_failed')
  })

  it('a recovery that is refused leaves nothing behind; one with a foreign target goes to the site', async () => {
    const email = anEmail()
    const { body } = await post(
      server,
      '/admin/users',
      { email, email_confirm: true },
      { token: serviceToken() },
    )
    const recover = (token: string) =>
      post(server, `/recover?redirect_to=${encodeURIComponent('https://evil.example')}`, {
        email,
        captcha_token: token,
      })
    const entries = async () => {
      const { rows } = await server.context.db.query<{ action: string }>(
        `select payload->>'action' as action from audit_log_entries where payload->>'actor_id' = $1`,
        [body['id']],
      )
      return rows.map(({ action }) => action)
    }
    expectError(await recover('robot'), 400, 'captcha_failed')
    expect(await entries()).toEqual([])
    expect((await recover('human')).status).toBe(200)
    const { link = '' } = await mailTo(server, email)
    expect(new URL(link).searchParams.get('redirect_to')).toBe('https://app.example.com')
    expectError(await recover('human'), 429, 'over_email_send_rate_limit')
    expect(await entries()).toEqual(['user_recovery_requested'])
    expect(server.inbox.messages({ to: email })).toHaveLength(1)
  })

  it('passes on the secret and the address of the client', async () => {
    const headers = { 'X-Forwarded-For': '203.0.113.9' }
    await post(server, '/recover', { email: anEmail(), captcha_token: ' human ' }, { headers })
    expect(Object.fromEntries(asked.at(-1) ?? [])).toEqual({
      secret: 'captcha-secret',
      response: 'human',
      remoteip: '203.0.113.9',
    })
  })
})
