import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, get, PASSWORD } from '../support/api.js'
import { startServer, type TestServer } from '../support/server.js'
import { aBrowser, settle, signIn, startUi, uiPath } from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi()
})
afterAll(() => server.close())

describe('the address of the service', () => {
  it('says what this is to people, and to programs what it always said', async () => {
    const page = await aBrowser(server).get('/')
    expect([page.status, page.headers.get('x-frame-options')]).toEqual([200, 'DENY'])
    expect(page.text).toContain('<bdi>app.example.com</bdi> accounts')
    expect(page.text).toContain('href="/ui"')
    const answer = await get(server, '/')
    expect([answer.status, answer.body['error_code']]).toEqual([404, 'not_found'])
  })

  it('has no page where the pages are switched off', async () => {
    const plain = await startServer({ AUTH_UI_ENABLED: 'false' })
    const page = await aBrowser(plain).get('/')
    expect([page.status, page.text.includes('href="/ui"')]).toEqual([404, false])
    expect((await aBrowser(plain).get('/favicon.ico')).status).toBe(404)
    await plain.close()
  })

  it('has an icon', async () => {
    const page = await aBrowser(server).get('/ui')
    const path = /<link rel="icon"[^>]* href="([^"]*)"/.exec(page.text)?.[1] ?? ''
    for (const at of [path, '/favicon.ico']) {
      const icon = await aBrowser(server).get(at)
      expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
    }
  })
})

describe('every address of the pages', () => {
  const FORMS = [
    '/ui/sign-in',
    '/ui/mail',
    '/ui/sign-up',
    '/ui/forgot',
    '/ui/code',
    '/ui/code/resend',
    '/ui/provider',
    '/ui/factor',
    '/ui/factor/send',
    '/ui/password',
    '/ui/continue',
    '/ui/sign-out',
    '/ui/link',
    '/ui/link/confirm',
  ]

  it.each(FORMS)('%s can be opened, by strangers and by people who are signed in', async (path) => {
    const browser = aBrowser(server)
    const opened = async () => {
      const seen = await settle(browser, await browser.get(path))
      expect([200, path === '/ui/link' ? 400 : 200]).toContain(seen.status)
      expect(seen.text).toMatch(/<a [^>]*href="\/ui[^"]*"|<form/)
    }
    await opened()
    await signIn(browser, await aUser(server))
    await opened()
  })
})

describe('an error', () => {
  it.each(['/user', '/nothing', '/admin/users', '/ui/nothing', '/verify', '/factors'])(
    'at %s is a page with a way on for a browser, and JSON for programs',
    async (path) => {
      const page = await aBrowser(server).get(path)
      expect(page.headers.get('content-type')).toContain('text/html')
      expect(page.text).toContain('href="/ui"')
      if (path !== '/ui/nothing') expect((await get(server, path)).body).toHaveProperty('error_code')
    },
  )

  it.each([
    ['/ui', '/ui/sign-in', { identifier: 'ada@example.com', password: 'wrong' }, 'password'],
    ['/ui/sign-up', '/ui/sign-up', { identifier: 'ada@example.com', password: 'abc' }, 'password'],
    ['/ui/sign-up', '/ui/sign-up', { identifier: 'not an address', password: PASSWORD }, 'identifier'],
    ['/ui/forgot', '/ui/forgot', { email: 'not an address' }, 'email'],
  ] as const)(
    'on %s %s names the field, keeps the input and gets the focus: %j',
    async (path, action, typed, name) => {
      const browser = aBrowser(server)
      const seen = await browser.submit(await browser.get(uiPath({}, path.slice(3))), action, { ...typed })
      const input = new RegExp(`<input\\s+id="${name}"[^]*?/>`).exec(seen.text)?.[0] ?? ''
      expect(input).toMatch(/aria-invalid="true"/)
      expect(input).toMatch(/aria-describedby="notice/)
      expect(seen.text.match(/\sautofocus/g)).toHaveLength(1)
      expect(input).toContain('autofocus')
      expect(seen.text).toMatch(/id="notice"\s+role="alert"/)
      const kept = 'identifier' in typed ? typed.identifier : typed.email
      expect(seen.text).toContain(`value="${kept}"`)
      expect(seen.text).not.toContain(PASSWORD)
    },
  )
})
