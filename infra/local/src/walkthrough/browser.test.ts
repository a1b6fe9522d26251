import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { serve } from '../web-server.js'
import { Browser, formsOf } from './browser.js'

beforeEach(() => {
  jest.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  jest.restoreAllMocks()
})

const PAGE = `<!doctype html><title>x</title>
  <form method="post" action="/other"><input type=hidden name=txn value="a&amp;b"><button>Use another account</button></form>
  <form method="post" action="/login"><input type="hidden" name="txn" value="a&amp;b">
    <label>Mail <input name="identifier"></label><input type=password name=password>
    <button name="decision" value="approve">Go</button></form>`

it('reads forms as a browser would: entities, nesting and fields without a value', () => {
  const exchange = { status: 200, headers: new Headers(), text: PAGE, durationMs: 0 }
  const [other, login] = formsOf({ url: new URL('http://local/page?x=1'), exchange })
  expect(other?.buttons).toEqual([{ name: '', value: '' }])
  expect(login).toEqual({
    action: new URL('http://local/login'),
    method: 'post',
    fields: { txn: 'a&b', identifier: '', password: '' },
    buttons: [{ name: 'decision', value: 'approve' }],
  })
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
    const browser = new Browser('test')
    const page = await browser.open(`${server.url}/page`)
    const done = await browser.submit(
      page,
      { identifier: 'ana', password: 'p' },
      { name: 'decision', value: 'approve' },
    )
    expect(JSON.parse(done.exchange.text)).toEqual({
      txn: 'a&b',
      identifier: 'ana',
      password: 'p',
      decision: 'approve',
    })
  } finally {
    await server.close()
  }
})
