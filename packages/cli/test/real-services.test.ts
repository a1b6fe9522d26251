import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Person, phoneSettings, startStack, waitFor, type Stack } from '@signet/testkit'
import { webhookHandler } from '@signet/webhook-verify/node'
import type {
  CreatedWebhook,
  Delivery,
  NextSecret,
  PersonalToken,
  Recovery,
  Webhook,
} from '../src/api/types.js'
import { json, Machine, type Ended } from './support/cli.js'

const FACTOR_PHONE = '4915199999999'
let stack: Stack
let person: Person
let machine: Machine

beforeAll(async () => {
  stack = await startStack({ env: { auth: phoneSettings(FACTOR_PHONE, '424242') } })
})
afterAll(() => stack?.close())

beforeEach(async () => {
  person = await Person.signUp(stack.authUrl)
  machine = new Machine({ SIGNET_URL: stack.webhooksUrl, SIGNET_AUTH_URL: stack.authUrl })
})
afterEach(() => machine?.remove())

async function signet(args: string[], input?: string): Promise<Ended> {
  const ended = await machine.run(args, { input })
  expect(ended).toMatchObject({ code: 0 })
  return ended
}

/** Runs a command with the arguments that sign in, and the password on stdin. */
const byPassword = (...args: string[]) =>
  signet([...args, '--password', '--email', person.email], person.password)

describe('with the real services', () => {
  it('signs in with a password, shows who that is, and signs out for good', async () => {
    await byPassword('login')
    const { token, ...shown } = json<Record<string, unknown>>(await signet(['whoami', '--json']))
    expect(shown).toEqual({ url: stack.webhooksUrl, email: person.email, source: 'file' })
    expect(token).toMatchObject({ hint: expect.stringMatching(/^svp_/), expires_at: expect.any(String) })
    await signet(['logout'])
    expect((await machine.run(['whoami'])).code).toBe(3)
  })

  it('signs in by the pages of the service', async () => {
    const running = machine.start(['login', '--no-browser', '--json'])
    const address = await waitFor(() => /http:\S+\/oauth\/authorize\S+/.exec(running.stderr())?.[0])
    expect(await person.approve(address)).toBe(200)
    const ended = await running.ended
    expect(ended).toMatchObject({ code: 0 })
    expect(json(ended)).toMatchObject({ email: person.email })
    await signet(['webhooks', 'list'])
  })

  it('signs in with a second factor', async () => {
    const code = await person.addAuthenticator()
    await signet(['login', '--password', '--email', person.email], `${person.password}\n${code()}\n`)
    await signet(['whoami'])
  })

  it('signs in with a phone as second factor', async () => {
    await person.addPhone(FACTOR_PHONE, '424242')
    const args = ['login', '--password', '--email', person.email]
    const refused = await machine.run(args, { input: `${person.password}\n424243\n` })
    expect(refused.code).toBe(1)
    const { stderr } = await signet(args, `${person.password}\n424242\n`)
    expect(stderr).not.toContain('424242')
    await signet(['whoami'])
  })

  it('does not sign in with a wrong password', async () => {
    const ended = await machine.run(['login', '--password', '--email', person.email], { input: 'wrong' })
    expect(ended.code).toBe(3)
  })

  it('creates, lists and revokes tokens that work in SIGNET_TOKEN until then', async () => {
    const { stdout } = await byPassword('token', 'create', '--name', 'ci', '--expires-in-days', '30')
    const env = { SIGNET_TOKEN: stdout.trim() }
    expect((await machine.run(['webhooks', 'list'], { env })).code).toBe(0)
    const [listed] = json<PersonalToken[]>(await byPassword('token', 'list', '--json'))
    expect(listed).toMatchObject({ name: 'ci', status: 'active' })
    await byPassword('token', 'revoke', listed?.id ?? '')
    expect((await machine.run(['webhooks', 'list'], { env })).code).toBe(3)
  })

  it('creates, changes, lists and deletes webhooks', async () => {
    await byPassword('login')
    const created = json<CreatedWebhook>(
      await signet(['webhooks', 'create', '--to', 'https://127.0.0.1/a', '--json']),
    )
    expect(created).toMatchObject({ events: ['summary.completed'], secret: expect.stringMatching(/^whsec_/) })
    const { endpoint_id: id } = created
    await signet(['webhooks', 'update', id, '--to', 'https://127.0.0.1/b'])
    const [listed] = json<Webhook[]>(await signet(['webhooks', 'list', '--json']))
    expect(listed).toMatchObject({ id, url: 'https://127.0.0.1/b', events: ['summary.completed'], status: 1 })
    await signet(['webhooks', 'delete', id])
    expect((await machine.run(['webhooks', 'delete', id])).code).toBe(1)
  })

  it('replaces a signing secret, and enables a webhook', async () => {
    await byPassword('login')
    const { endpoint_id: id, secret } = json<CreatedWebhook>(
      await signet(['webhooks', 'create', '--to', 'https://127.0.0.1/a', '--json']),
    )
    const next = json<NextSecret>(await signet(['webhooks', 'rotate', id, '--json']))
    expect(next.secret).not.toBe(secret)
    expect((await signet(['webhooks', 'get', id])).stdout).toContain('Next secret  active from')
    await signet(['webhooks', 'cancel', id])
    await signet(['webhooks', 'rotate', id, '--activate-after-hours', '72'])
    const activated = json<Webhook>(await signet(['webhooks', 'activate', id, '--json']))
    expect(activated.secret_activates_at).toBe('')
    expect(json(await signet(['webhooks', 'enable', id, '--json']))).toMatchObject({ id, status: 1 })
    expect(json(await signet(['api', 'GET', `/v1/webhooks/${id}`]))).toMatchObject({ item: { id } })
  })

  it('hands a real delivery on to an application, which verifies it', async () => {
    await byPassword('login')
    const verified: string[] = []
    let secret = ''
    const server = createServer(
      (req, res) => void webhookHandler({ secret }, ({ id }) => void verified.push(id))(req, res),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const to = ['--forward-to', `http://127.0.0.1:${port}/hook`]
      const made = machine.start(['listen', '--create', ...to, '--json', '--count', '1'])
      const id = await waitFor(() => /"endpoint_id":"(\d+)"/.exec(made.stdout())?.[1], {
        describe: made.stderr(),
      })
      // The application knows only the next secret, so it verifies the second signature in webhook-signature.
      secret = json<NextSecret>(await signet(['webhooks', 'rotate', id, '--json'])).secret
      await signet(['trigger', 'webhook.ping', '--webhook', id])
      expect(await made.ended).toMatchObject({ code: 0 })
      expect(verified).toHaveLength(1)
    } finally {
      server.close().closeAllConnections()
    }
  })

  it('says what is wrong with an event type', async () => {
    await byPassword('login')
    const args = ['webhooks', 'create', '--to', 'https://127.0.0.1/a', '--events', 'summary.done', '--json']
    const ended = await machine.run(args)
    expect(ended.code).toBe(1)
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'bad_request' } })
  })

  it('receives a real test event, verifies it, and leaves no webhook behind', async () => {
    await byPassword('login')
    const running = machine.start(['listen', '--create', '--count', '1', '--json'])
    const lines = () =>
      running
        .stdout()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    const id = await waitFor(() => lines()[0]?.['endpoint_id'] as string | undefined, {
      describe: running.stderr(),
    })
    await signet(['webhooks', 'test', id])
    const log = () => machine.run(['deliveries', 'list', id, '--json'])
    expect(await running.ended).toMatchObject({ code: 0 })
    expect(lines()[1]).toMatchObject({
      kind: 'delivery',
      verified: true,
      event_type: 'webhook.ping',
      repeated: false,
    })
    expect(json(await signet(['webhooks', 'list', '--json']))).toEqual([])
    expect((await log()).code).toBe(1)
  })

  it('replays a delivery, and recovers what was sent', async () => {
    await byPassword('login')
    const running = machine.start(['listen', '--json'])
    const received = () => running.stdout().match(/"kind":"delivery"/g)?.length ?? 0
    const url = await waitFor(() => /"url":"([^"]+)"/.exec(running.stdout())?.[1], {
      describe: running.stderr(),
    })
    const args = ['webhooks', 'create', '--to', url, '--events', 'webhook.ping', '--json']
    const { endpoint_id: id } = json<CreatedWebhook>(await signet(args))
    await signet(['webhooks', 'test', id])
    const delivered = async (count: number) => {
      const list = ['deliveries', 'list', id, '--status', 'delivered', '--json']
      const items = json<Delivery[]>(await signet(list))
      return items.length === count ? items : undefined
    }
    const [first] = await waitFor(() => delivered(1))
    const again = json<Delivery>(await signet(['deliveries', 'replay', id, first?.id ?? '', '--json']))
    expect(again).toMatchObject({ event_id: first?.event_id })
    expect(again.id).not.toBe(first?.id)
    await waitFor(() => delivered(2))
    const recover = ['recover', 'start', id, '--since', '1h', '--what', 'all', '--json']
    const { id: recovery } = json<Recovery>(await signet(recover))
    const watched = await signet(['recover', 'show', id, recovery, '--watch', '--json'])
    const [last] = watched.stdout.trim().split('\n').slice(-1)
    expect(JSON.parse(last ?? '')).toMatchObject({ state: 'done', delivered: 1, failed: 0 })
    expect(received()).toBe(3)
    running.child.kill('SIGINT')
    await running.ended
  })

  it('shows the delivery log', async () => {
    await byPassword('login')
    const args = ['webhooks', 'create', '--to', 'https://127.0.0.1:1024/', '--json']
    const { endpoint_id: id } = json<CreatedWebhook>(await signet(args))
    await signet(['webhooks', 'test', id])
    const failed = await waitFor(async () => {
      const [delivery] = json<Delivery[]>(await signet(['deliveries', 'list', id, '--json']))
      return delivery?.last_error && delivery
    })
    expect(failed).toMatchObject({
      event_type: 'webhook.ping',
      status: 0,
      attempts: 1,
      last_error: 'connection_refused',
    })
    const filtered = ['deliveries', 'list', id, '--status', 'pending', '--since', '1h', '--all', '--json']
    expect(json(await signet(filtered))).toMatchObject([{ id: failed.id }])
    const shown = await signet(['deliveries', 'show', id, failed.id, '--json'])
    expect(json(shown)).toMatchObject({
      id: failed.id,
      attempt_log: [{ number: 1, error: 'connection_refused', answer: '' }],
    })
  })

  it('shows a sample', async () => {
    await byPassword('login')
    const [sample] = json<{ id: string }[]>(await signet(['events', 'samples', '--json']))
    expect(sample?.id).toMatch(/^evt_sample_/)
  })
})
