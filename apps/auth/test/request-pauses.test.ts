import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { randomPauseMs } from '../src/account-requests/account-requests.js'
import { anEmail, aUser, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const PAUSE = 600

let server: TestServer
beforeAll(async () => {
  server = await startServer({}, { requestPauseMs: () => PAUSE })
})
afterAll(() => server.close())

it('looks for the account of a request only after a pause, whether or not there is one', async () => {
  const { email } = await aUser(server)
  const { db, outboxSender } = server.context
  const waiting = async () =>
    (await db.query<{ attempts: number }>(`select attempts from outbox where kind = 'account_request'`)).rows
  for (const address of [email, anEmail()]) {
    await post(server, '/recover', { email: address })
    await outboxSender.poll()
    await server.settled()
    expect(await waiting()).toEqual([{ attempts: 0 }])
    server.clock.advance(PAUSE)
    await outboxSender.poll()
    await server.settled()
    expect(await waiting()).toEqual([])
  }
  expect(server.inbox.messages({ to: email }).at(-1)?.subject).toMatch(/password/i)
})

it('takes a pause that nobody can foresee, short enough for an email within a second', () => {
  const pauses = Array.from({ length: 1000 }, randomPauseMs)
  expect(Math.min(...pauses)).toBeLessThan(100)
  expect(Math.max(...pauses)).toBeGreaterThan(500)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(PAUSE)
})
