import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../src/config/read-config.js'
import { PASSWORD } from '../support/api.js'
import { startFakeProvider } from '../support/fake-provider.js'
import { startSmsGateway } from '../support/sms-gateway.js'
import { aBrowser, noticeOf, startUi, submitted } from './support.js'

describe('the pages with CAPTCHA', () => {
  const env = {
    AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
    AUTH_SECURITY_CAPTCHA_SECRET: 'secret',
  }

  it('does not start without the key of the widget', () => {
    const config = {
      AUTH_SITE_URL: 'https://app.example.com',
      AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
      AUTH_DB_DRIVER: 'postgres',
      DATABASE_URL: 'postgres://127.0.0.1:1/none',
      AUTH_JWT_SECRET: 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz',
      AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
      ...env,
    }
    expect(() => readConfig(config)).toThrow('AUTH_UI_CAPTCHA_SITE_KEY')
    expect(readConfig({ ...config, AUTH_UI_CAPTCHA_SITE_KEY: 'site-key' }).uiEnabled).toBe(true)
  })

  it('asks on each form that sends or signs in, and lets only the widget in', async () => {
    const service = await startFakeProvider()
    service.answer('POST /verify', ({ form }) => ({ body: { success: form['response'] === 'solved' } }))
    const url = `${service.url}/verify`
    const gateway = await startSmsGateway()
    const own = await startUi(
      { ...env, ...gateway.env, AUTH_UI_CAPTCHA_SITE_KEY: 'site-key' },
      { captchaUrls: { hcaptcha: url, turnstile: url }, smsUrls: gateway.urls },
    )
    const browser = aBrowser(own)
    for (const [path, fields] of [
      ['/ui', { identifier: 'x@example.com', password: PASSWORD }],
      ['/ui/sign-up', { identifier: 'x@example.com', password: PASSWORD }],
      ['/ui/forgot', { email: 'x@example.com' }],
      ['/ui/phone', { phone: '+4915112345678' }],
    ] as const) {
      const page = await browser.get(path)
      expect(page.text).toContain('data-sitekey="site-key"')
      expect(page.text).toContain('<noscript>')
      expect(page.headers.get('content-security-policy')).toContain(
        "' https://hcaptcha.com https://*.hcaptcha.com; img-src 'self'; frame-src",
      )
      const action = path === '/ui' ? '/ui/sign-in' : path
      const seen = await browser.submit(page, action, fields)
      expect([seen.status, noticeOf(seen)]).toEqual([400, expect.stringContaining('CAPTCHA check failed')])
    }
    const page = await browser.get('/ui/sign-up')
    const fields = { identifier: 'x@example.com', password: PASSWORD, 'h-captcha-response': 'solved' }
    expect((await submitted(browser, page, '/ui/sign-up', fields)).text).toContain('Check your email')
    await own.inbox.waitForMail({ to: 'x@example.com' })
    expect(own.inbox.messages({ to: 'x@example.com' })).toHaveLength(1)
    expect(gateway.messages).toEqual([])
    await own.close()
    await gateway.close()
    await service.close()
  })
})
