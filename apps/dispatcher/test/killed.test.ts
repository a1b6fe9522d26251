import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/local'
import { startStack, waitFor, type Stack } from '@signet/testkit'

let folder: string
let receiver: Receiver
let stack: Stack
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signet-interrupted-'))
  receiver = await startReceiver()
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, receiver.authorityCert)
  stack = await startStack({ env: { dispatcher: { NODE_EXTRA_CA_CERTS: authority } } })
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

it('a first attempt in flight when the dispatcher is killed counts, and shows as interrupted', async () => {
  const email = `${randomBytes(6).toString('hex')}@example.test`
  const person = await ask(`${stack.authUrl}/signup`, null, { email, password: 'correct horse battery' })
  const { id: accountId } = person['user'] as { id: string }
  const made = await ask(`${stack.webhooksUrl}/account/tokens`, String(person['access_token']), { name: 'a' })
  const token = String(made['token'])
  receiver.hook('/interrupted', { answers: [{ kind: 'hang' }] })
  const endpoint = await ask(`${stack.webhooksUrl}/v1/webhooks`, token, {
    url: receiver.url('/interrupted'),
    events: ['summary.completed'],
  })
  await ask(`${stack.internalUrl}/internal/v1/summary-ready`, stack.internalToken, {
    account_id: accountId,
    audio_id: 'rec_1',
    source_event_key: 'interrupted-1',
  })
  const posts = () => receiver.deliveries({ path: '/interrupted' })
  await waitFor(() => posts().length === 1, { describe: 'the first attempt' })
  await stack.kill('dispatcher')
  await stack.restart('dispatcher')

  const log = `${stack.webhooksUrl}/v1/webhooks/${String(endpoint['endpoint_id'])}/deliveries`
  const delivered = async () => {
    const { items } = (await ask(log, token)) as { items: Record<string, unknown>[] }
    return items.find(({ status }) => status === 1)
  }
  await waitFor(async () => (await delivered()) !== undefined, {
    describe: 'the delivery',
  })
  const delivery = await delivered()
  expect(delivery).toMatchObject({ attempts: 2 })
  expect(posts()).toHaveLength(2)
  const detail = (await ask(`${log}/${String(delivery?.['id'])}`, token)) as {
    item: { attempt_log?: unknown; attempts: unknown }
  }
  expect(JSON.stringify(detail)).toContain('"interrupted"')
})
