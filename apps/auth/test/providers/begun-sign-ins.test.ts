import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { aUser, expectError, get } from '../support/api.js'
import { providerEnv, startFakeProvider, type FakeProvider } from '../support/fake-provider.js'
import type { TestServer } from '../support/server.js'
import { aBrowser, startUi, uiPath } from '../ui/support.js'

// Each sign-in that anyone begins at a provider leaves a row, with a target of any length (docs/threat-model.md#guessing-and-flooding).
const BURST = 3

let server: TestServer
let provider: FakeProvider
beforeAll(async () => {
  provider = await startFakeProvider()
  server = await startUi({
    ...providerEnv('github', provider.url),
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_RATE_LIMIT_HEADER: 'X-Client',
    AUTH_RATE_LIMIT_BURST: String(BURST),
    AUTH_RATE_LIMIT_TOKEN_REFRESH: '300',
  })
})
afterAll(async () => {
  await server.close()
  await provider.close()
})

const from = (client: string) => ({ headers: { 'X-Client': client } })
const begin = (client: string) => get(server, '/authorize?provider=github', from(client))
const useUp = async (client: string) => {
  for (let begun = 0; begun < BURST; begun += 1) expect((await begin(client)).status).toBe(302)
}
const rows = async () => {
  const { rows: counted } = await server.context.db.query<{ count: string }>(
    'select count(*) as count from flow_state',
  )
  return Number(counted[0]?.count)
}

it('sign-ins at providers have a limit for each client, and those refused leave nothing behind', async () => {
  await useUp('one')
  const before = await rows()
  const refused = await begin('one')
  expectError(refused, 429, 'over_request_rate_limit')
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await rows()).toBe(before)
  expect((await begin('another')).status).toBe(302)
  server.clock.advance(1000)
  expect((await begin('one')).status).toBe(302)
})

it('sign-ins at providers that cannot begin do not count', async () => {
  for (let tried = 0; tried <= BURST; tried += 1)
    expectError(await get(server, '/authorize?provider=pigeon', from('mistaken')), 400, 'validation_failed')
  expect((await begin('mistaken')).status).toBe(302)
})

it('sign-ins at providers count wherever they begin: on the page, and to link an account', async () => {
  const { access_token: token } = await aUser(server)
  const browser = aBrowser(server, from('third').headers)
  const page = await browser.get(uiPath())
  const linking = () => get(server, '/user/identities/authorize?provider=github', { ...from('third'), token })
  expect((await linking()).status).toBe(302)
  expect((await browser.submit(page, '/ui/provider', { provider: 'github' })).status).toBe(303)
  expect((await begin('third')).status).toBe(302)
  expect((await linking()).status).toBe(429)
  expect((await browser.submit(page, '/ui/provider', { provider: 'github' })).status).toBe(429)
  expect((await begin('third')).status).toBe(429)
})
