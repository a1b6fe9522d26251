import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, it } from '@jest/globals'
import { lockWaiters, waitFor } from '@signet/testkit'
import { useApi } from './support/api.js'
import { callTool, errorOf, post, request, type Message, type ToolOutcome } from './support/mcp.js'
import { receivedDuring } from './support/queries.js'

const api = useApi({ env: () => ({ WEBHOOKS_RATE_LIMITS_ENABLED: 'true' }) })

/** An account with events of these sizes, newest first. */
async function anAccountWithEvents(...bytes: number[]) {
  const { accountId, token } = await api.anAccount()
  for (const [age, size] of bytes.entries())
    await api.db.query(
      `insert into webhook_events (id, account_id, type, audio_id, source, body, state, created_at, dispatched_at)
       values ('evt_' || md5($1 || $2), $1::uuid, 'summary.completed', $2, 'test',
         rpad('{"id":"evt_x","type":"summary.completed","created_at":"2026-01-01T00:00:00.000Z","data":{"audio_id":"a"}}', $3),
         'dispatched', now() - interval '1 hour' * $4, now())`,
      [accountId, `rec_${age}`, size, age],
    )
  return { accountId, token }
}

const MIB = 1024 * 1024
const PATH = '/v1/webhook-events/samples?limit=10'

/** Begins a response that nobody reads. */
async function unread(token: string) {
  const sent = get(api.url + PATH, { agent: false, headers: { authorization: `Bearer ${token}` } })
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return { status: response.statusCode, giveUp: () => sent.destroy() }
}

it('lets an account leave two lists of samples unread, and no more', async () => {
  const { token } = await anAccountWithEvents(16 * MIB)
  const answers = [await unread(token), await unread(token)]
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  const third = await api.call('GET', PATH, { token })
  expect([third.status, third.headers.get('retry-after'), third.body]).toEqual([
    429,
    '1',
    { error: { code: 'too_many_requests', message: expect.any(String) as unknown } },
  ])
  const other = await anAccountWithEvents(1000)
  expect((await api.call('GET', PATH, { token: other.token })).status).toBe(200)
  answers[0]?.giveUp()
  await waitFor(async () => (await api.call('GET', PATH, { token })).status === 200, {
    describe: 'a place for another answer',
  })
  answers[1]?.giveUp()
})

/** Calls the tool five times in one batch, and returns the codes of the errors. */
async function refusalsOfBatch(token: string): Promise<unknown[]> {
  const given = { name: 'list_event_samples', arguments: { limit: 1 } }
  const batch = Array.from({ length: 5 }, (_, id) => request('tools/call', given, id))
  const answers = (await post(api, batch, { token })).body as Message[]
  const outcomes = answers.map(({ result }) => result as ToolOutcome)
  return outcomes.filter(({ isError }) => isError).map((outcome) => errorOf(outcome)['code'])
}

it('lets a batch call the tool as often as it likes if its results are small', async () => {
  const { token } = await anAccountWithEvents(1000)
  expect(await refusalsOfBatch(token)).toEqual([])
})

it('lets an account have four long results of tools, also in one batch', async () => {
  const { token } = await anAccountWithEvents(MIB)
  expect(await refusalsOfBatch(token)).toEqual(['too_many_requests'])
  // Those of the batch were read.
  expect(await refusalsOfBatch(token)).toEqual(['too_many_requests'])
  const other = await anAccountWithEvents(MIB)
  expect((await callTool(api, other.token, 'list_event_samples', { limit: 1 })).isError).toBeUndefined()
})

it('counts no answer whose client left while it waited behind another one', async () => {
  const { token } = await anAccountWithEvents(16 * MIB)
  const { hostname, port } = new URL(api.url)
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
  await api.db.transaction(async (first) => {
    await first.query('lock table webhook_endpoints in access exclusive mode')
    await api.db.transaction(async (others) => {
      await others.query('lock table webhook_events in access exclusive mode')
      const socket = connect(Number(port), hostname)
      socket.write(get('/v1/webhooks') + get(PATH).repeat(2))
      await lockWaiters(api.db, 3)
      socket.destroy()
    })
    const isFree = async () => {
      const answers = [await unread(token), await unread(token)]
      for (const { giveUp } of answers) giveUp()
      return answers.every(({ status }) => status === 200)
    }
    await waitFor(isFree, { describe: 'two places for other answers' })
  })
})

it('reads no more for a tool than that can return', async () => {
  const { accountId, token } = await anAccountWithEvents(9 * MIB, 9 * MIB)
  const received = await receivedDuring(api.db, async () => {
    const outcome = await callTool(api, token, 'list_event_samples', { limit: 10 })
    expect(errorOf(outcome)['message']).toContain('2097152 characters')
  })
  expect(received).toBeLessThan(2.1 * MIB)
  await api.db.query('update webhook_events set body = left(body, $2) where account_id = $1', [
    accountId,
    MIB,
  ])
  const { structuredContent } = await callTool(api, token, 'list_event_samples', { limit: 1 })
  expect(structuredContent).toMatchObject({ items: [{ data: { audio_id: 'a' } }] })
})
