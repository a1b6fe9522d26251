import { text } from 'node:stream/consumers'
import { expect, it } from '@jest/globals'
import { serve } from '../web-server.js'
import { Browser, formOf } from './browser.js'

const PAGE = `<!doctype html><title>x</title>
  <form method="post" action="/other"><input type=hidden name=txn value="a&amp;b"><button>Use another account</button></form>
  <form method="post" action="/login"><input type="hidden" name="txn" value="a&amp;b">
    <label>Mail <input name="identifier"></label><input type=password name=password>
    <button name="decision" value="approve">Go</button></form>`

it('reads forms as a browser would: entities, nesting and fields without a value', () => {
  const page = { url: new URL('http://local/page?x=1'), status: 200, html: PAGE }
  expect(formOf(page, {}).action.pathname).toBe('/other')
  const action = new URL('http://local/login')
  const fields = { txn: 'a&b', identifier: '', password: '' }
  expect(formOf(page, { password: 'p' })).toEqual({ action, fields })
  expect(formOf(page, { decision: 'approve' })).toEqual({ action, fields })
  expect(() => formOf(page, { decision: 'deny' })).toThrow('a form with decision')
})

it('keeps cookies, names its origin, sends the right form and follows the redirect', async () => {
  const server = await serve((router) => {
    router.get('/page', (_, response) => {
      response.cookie('session', '1', { path: '/', httpOnly: true }).type('html').send(PAGE)
    })
    router.post('/login', async (request, response) => {
      const { cookie, origin } = request.headers
      const sent = new URLSearchParams({ cookie: String(cookie), origin: String(origin) })
      response.redirect(303, `/done?${await text(request)}&${sent.toString()}`)
    })
    router.get('/done', ({ query }, response) => void response.json(query))
  })
  try {
    const browser = new Browser(fetch)
    const page = await browser.open(`${server.url}/page`)
    const filled = { identifier: 'ana', password: 'p', decision: 'approve' }
    const done = await browser.submit(page, filled)
    const sent = { cookie: 'session=1', origin: server.url }
    expect(JSON.parse(done.html)).toEqual({ txn: 'a&b', ...filled, ...sent })
  } finally {
    await server.close()
  }
})
