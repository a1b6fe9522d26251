import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, post, type SignedUp } from '../support/api.js'
import { anOperator } from '../support/operator.js'
import type { TestServer } from '../support/server.js'
import { onAccount } from './account-support.js'
import { startUi } from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi({ AUTH_UI_OPERATOR_ENABLED: 'true', AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '1' })
})
afterAll(() => server.close())

/** Opens `count` sessions of a user, all used more recently than the user's other sessions. */
const open = ({ user }: SignedUp, count: number) =>
  server.context.db.query(
    `insert into sessions (id, user_id, aal, user_agent, ip, created_at, updated_at, amr, refresh_salt)
     select gen_random_uuid(), $1, 'aal1', 'Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0', '192.0.2.1', $2, $2, '[]', sha256('salt')
     from generate_series(1, $3)`,
    [user.id, new Date(server.clock.now().getTime() + 1000), count],
  )
const linesOn = (text: string) => [...text.matchAll(/name="session" value="/g)].length

describe('an account with very many sessions', () => {
  it('shows its owner the newest sign-ins, this one among them, and how many others there are', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    await open(user, 300)
    const { text } = await browser.get('/ui/account')
    expect(linesOn(text)).toBe(49)
    expect(text).toContain('This browser')
    // The sign-up has opened one more session.
    expect(text).toContain('and 252 more')
  })

  it('shows an operator the newest sessions, and how many others there are', async () => {
    const user = await aUser(server)
    await open(user, 300)
    const operator = await anOperator(server)
    const { text } = await operator.browser.get(`/ui/operator/users/${user.user.id}`)
    expect([...text.matchAll(/Firefox/g)]).toHaveLength(50)
    expect(text).toContain('and 251 more')
  })

  it('exports the newest sessions, as often as a client may ask for messages', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    await open(user, 1500)
    const exported = () => browser.get('/ui/account/export')
    const { text } = await exported()
    expect((JSON.parse(text) as { sessions: unknown[] }).sessions).toHaveLength(1000)
    const statuses = []
    for (let asked = 0; asked < 30; asked += 1) statuses.push((await exported()).status)
    expect(statuses.at(-1)).toBe(429)
  })

  it('keeps 300 characters of what a browser says that it is', async () => {
    const user = await aUser(server)
    const { status } = await post(
      server,
      '/token?grant_type=password',
      { email: user.email, password: user.password },
      { headers: { 'user-agent': 'x'.repeat(10_000) } },
    )
    expect(status).toBe(200)
    const { rows } = await server.context.db.query(
      'select max(length(user_agent)) as longest from sessions where user_id = $1',
      [user.user.id],
    )
    expect(rows).toEqual([{ longest: 300 }])
  })
})
