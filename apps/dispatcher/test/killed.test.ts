import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { startStack, waitFor, type Stack } from '@signet/testkit'

let folder: string
let receiver: Receiver
let stack: Stack
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signet-interrupted-'))
  receiver = await startReceiver()
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, receiver.authorityCert)
  stack = await startStack({
    env: {
      // The longest timeout allowed: the slow attempt must still be in flight when the others have begun.
      dispatcher: { NODE_EXTRA_CA_CERTS: authority, DISPATCHER_TIMEOUT_MS: '8000' },
      // The tests read the log often.
      webhooks: { WEBHOOKS_RATE_LIMITS_ENABLED: 'false' },
    },
  })
})
afterAll(async () => {
  await stack.close()
  await receiver.close()
  rmSync(folder, { recursive: true })
})

async function ask(url: string, token: string | null, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(response.status).toBeLessThan(300)
  return (await response.json()) as Record<string, unknown>
}

/** Waits that take seconds need not poll fifty times in each: every answer costs two services some work. */
const INTERVAL = { intervalMs: 250 }

/** Signs up an account with a webhook at a path of the receiver. */
async function aSubscriber(path: string) {
  const email = `${randomBytes(6).toString('hex')}@example.test`
  const person = await ask(`${stack.authUrl}/signup`, null, { email, password: 'correct horse battery' })
  const { id: accountId } = person['user'] as { id: string }
  const made = await ask(`${stack.webhooksUrl}/account/tokens`, String(person['access_token']), { name: 'a' })
  const token = String(made['token'])
  const endpoint = await ask(`${stack.webhooksUrl}/v1/webhooks`, token, {
    url: receiver.url(path),
    events: ['summary.completed'],
  })
  return { accountId, token, url: `${stack.webhooksUrl}/v1/webhooks/${String(endpoint['endpoint_id'])}` }
}

/** A notice with every part: its body is stored with the event, and a delivery gets its row with the result of its first attempt. */
const COMPLETE = {
  recording: { title: 'Meeting' },
  transcript: { text: 'Hello' },
  summaries: [{ label: 'Summary', content: 'Short', format: 'markdown' }],
}
/** A notice without parts: the dispatcher writes the body and the rows of the deliveries before it sends anything. */
const TO_BE_PREPARED = {}

const publish = (accountId: string, key: string, parts: object) =>
  ask(`${stack.internalUrl}/internal/v1/summary-ready`, stack.internalToken, {
    account_id: accountId,
    audio_id: 'rec_1',
    source_event_key: key,
    ...parts,
  })

type Interrupted = { state: string; path: string; parts: object }
const SLOW: Interrupted = { state: 'a row since it has taken long', path: '/slow', parts: COMPLETE }
const QUICK: Interrupted[] = [
  { state: 'a row from the start', path: '/prepared', parts: TO_BE_PREPARED },
  { state: 'no row before its result', path: '/complete', parts: COMPLETE },
]

it('a first attempt in flight when the dispatcher is killed counts, and shows as interrupted, whatever row it has', async () => {
  const prepare = async ({ state, path, parts }: Interrupted) => {
    receiver.hook(path, { answers: [{ kind: 'hang' }] })
    const { accountId, token, url } = await aSubscriber(path)
    const posts = () => receiver.deliveries({ path }).length
    const attempt = async () => {
      await publish(accountId, `interrupted${path}`, parts)
      await waitFor(() => posts() === 1, { describe: `the first attempt with ${state}` })
    }
    const logged = async (wanted: number) => {
      const { items } = (await ask(`${url}/deliveries`, token)) as { items: Record<string, unknown>[] }
      return items.find(({ status }) => status === wanted)
    }
    const detail = async (id: unknown) => JSON.stringify(await ask(`${url}/deliveries/${String(id)}`, token))
    return { state, posts, attempt, logged, detail }
  }
  const slow = await prepare(SLOW)
  const quick = await Promise.all(QUICK.map(prepare))
  await slow.attempt()
  await waitFor(() => slow.logged(0), { ...INTERVAL, describe: 'the pending delivery' })
  await Promise.all(quick.map(({ attempt }) => attempt()))
  await stack.kill('dispatcher')
  await stack.restart('dispatcher')

  for (const { state, posts, logged, detail } of [slow, ...quick]) {
    const delivery = await waitFor(() => logged(1), { ...INTERVAL, describe: `the delivery with ${state}` })
    expect({ state, posts: posts(), attempts: delivery['attempts'] }).toEqual({
      state,
      posts: 2,
      attempts: 2,
    })
    expect([state, await detail(delivery['id'])]).toEqual([state, expect.stringContaining('"interrupted"')])
  }
})

it('a recovery goes on where it was when the dispatcher is killed in the middle', async () => {
  const EVENTS = 120
  const path = '/recovered'
  const { accountId, token, url } = await aSubscriber(path)
  const eventIds = await Promise.all(
    Array.from({ length: EVENTS }, async (_, index) => {
      const { event_id } = await publish(accountId, `recovered-${accountId}-${index}`, COMPLETE)
      return String(event_id)
    }),
  )
  type Page = { items: { event_id: string }[]; next_cursor: string }
  const deliveriesOf = async () => {
    const found: string[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const query = `status=1&page_size=100${cursor === '' ? '' : `&cursor=${cursor}`}`
      const page = (await ask(`${url}/deliveries?${query}`, token)) as Page
      found.push(...page.items.map(({ event_id }) => event_id))
      cursor = page.next_cursor || undefined
    }
    return found.sort()
  }
  await waitFor(async () => (await deliveriesOf()).length === EVENTS, {
    ...INTERVAL,
    describe: 'the first deliveries',
  })

  // Only some deliveries may wait for their first attempt, so a receiver that does not answer stops the recovery halfway.
  let release = () => {}
  const after = new Promise<void>((resolve) => (release = resolve))
  receiver.hook(path, { otherwise: reply(200, { after }) })
  type Recovery = { item: { id: string; state: string; matched: number; queued: number; delivered: number } }
  const since = '2026-01-01T00:00:00Z'
  const started = (await ask(`${url}/recover`, token, { since, what: 'all' })) as Recovery
  const recovery = async () => ((await ask(`${url}/recover/${started.item.id}`, token)) as Recovery).item
  await waitFor(async () => (await recovery()).queued > 0, { describe: 'the first part of the recovery' })
  await stack.kill('dispatcher')
  const middle = await recovery()
  expect(middle).toMatchObject({ state: 'running', matched: EVENTS, delivered: 0 })
  expect(middle.queued).toBeLessThan(EVENTS)
  release()
  receiver.hook(path, {})
  await stack.restart('dispatcher')

  await waitFor(async () => (await recovery()).delivered === EVENTS, {
    ...INTERVAL,
    describe: 'the rest of the recovery',
  })
  expect(await recovery()).toMatchObject({ state: 'done', matched: EVENTS, queued: EVENTS })
  // Each event has its original delivery and one that the recovery made.
  expect(await deliveriesOf()).toEqual([...eventIds, ...eventIds].sort())
})
