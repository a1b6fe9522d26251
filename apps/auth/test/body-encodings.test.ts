import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { anEmail, PASSWORD } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'a body compressed with %s is refused, also when its client leaves, and the next request is answered',
  async (encoding) => {
    const body = JSON.stringify({ email: anEmail(), password: PASSWORD })
    const ask = (headers: Record<string, string>) =>
      fetch(`${server.url}/token?grant_type=password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
    const refused = await ask({ 'content-encoding': encoding, connection: 'close' })
    expect([refused.status, await refused.json()]).toMatchObject([400, { error_code: 'bad_json' }])
    const next = await ask({})
    expect([next.status, await next.json()]).toMatchObject([400, { error_code: 'invalid_credentials' }])
  },
)
