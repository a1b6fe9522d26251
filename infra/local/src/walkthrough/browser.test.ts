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
  const login = { action: new URL('http://local/login'), method: 'post' }
  const fields = { txn: 'a&b', identifier: '', password: '' }
  expect(formOf(page, { password: 'p' })).toEqual({ ...login, fields })
  expect(formOf(page, {}, { name: 'decision', value: 'approve' })).toEqual({ ...login, fields })
  expect(() => formOf(page, {}, { name: 'decision', value: 'deny' })).toThrow('a form with deny')
})

it('keeps cookies, names its origin, sends the right form and follows the redirect', async () => {
  const server = await serve((router) => {
    router.get('/page', (_, response) => {
      response.cookie('session', '1', { path: '/', httpOnly: true }).type('html').send(PAGE)
    })
    router.post('/login', async (request, response) => {
      response.redirect(303, `/done?${await text(request)}`)
    })
    router.get('/done', ({ query }, response) => void response.json(query))
  })
  try {
    const browser = new Browser(fetch)
    const page = await browser.open(`${server.url}/page`)
    const done = await browser.submit(
      page,
      { identifier: 'ana', password: 'p' },
      { name: 'decision', value: 'approve' },
    )
    expect(JSON.parse(done.html)).toEqual({
      txn: 'a&b',
      identifier: 'ana',
      password: 'p',
      decision: 'approve',
    })
  } finally {
    await server.close()
  }
})
