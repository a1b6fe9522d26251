import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { sign, verify } from '@signet/webhook-verify'
import { waitFor } from '@signet/testkit'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
// Formatted unlike the output of JSON.stringify, because forwarding must not parse and rewrite the body.
const BODY =
  '{ "id":"evt_1", "type":"webhook.ping","created_at":"2026-01-01T00:00:00.000Z",\n "data":{"é":1.0}}'

type Taken = { body: string; request: IncomingMessage }
const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/** A local application that records requests and answers as the test says. */
async function application(answer: RequestListener = (_req, res) => res.writeHead(204).end()) {
  const taken: Taken[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      taken.push({ body: Buffer.concat(chunks).toString(), request })
      answer(request, response)
    })
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?x=1`, taken }
}

type Line = { kind: string; url?: string; [member: string]: unknown }

async function listening(forwardTo: string, ...args: string[]) {
  const env = { SIGNET_WEBHOOK_SECRET: SECRET }
  const running = world.machine.start(['listen', '--json', '--forward-to', forwardTo, ...args], { env })
  const lines = () =>
    running
      .stdout()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)
  const url = await waitFor(() => lines()[0]?.url, { describe: `the receiver; ${running.stderr()}` })
  const deliver = async (headers: Record<string, string> = sign(BODY, SECRET)) =>
    (await fetch(url, { method: 'POST', headers, body: BODY })).status
  return { running, lines, deliver }
}

describe('listen --forward-to', () => {
  it('hands the exact bytes and headers on, and the answer back', async () => {
    const app = await application((_req, res) => res.writeHead(202).end('thanks\n'))
    const { running, lines, deliver } = await listening(app.url, '--count', '1')
    expect(await deliver({ ...sign(BODY, SECRET), 'X-Other': 'kept' })).toBe(202)
    expect((await running.ended).code).toBe(0)
    const [{ body, request }] = app.taken as [Taken]
    expect([body, request.url, request.method]).toEqual([BODY, '/hook?x=1', 'POST'])
    expect(verify(body, request.headers, SECRET).id).toBe('evt_1')
    expect(request.headers).toMatchObject({ 'x-other': 'kept', host: new URL(app.url).host })
    expect(lines().slice(1)).toMatchObject([
      { kind: 'delivery', verified: true },
      { kind: 'answer', url: app.url, status: 202, body: 'thanks\n', duration_ms: expect.any(Number) },
      { kind: 'end', accepted: 1 },
    ])
  })

  it('passes a refusal on, so that the delivery is tried again, and does not count it', async () => {
    let calls = 0
    const app = await application((_req, res) =>
      res.writeHead((calls += 1) === 1 ? 500 : 200).end('\u001b[31m'),
    )
    const { running, deliver } = await listening(app.url, '--count', '1')
    expect(await deliver()).toBe(500)
    expect(await deliver()).toBe(200)
    const ended = await running.ended
    expect(ended.stdout).toContain('"accepted":1')
    expect(ended.stdout).not.toContain('\u001b')
  })

  it('answers 502 for an application that is not there, and says so', async () => {
    const gone = await application()
    const { url } = gone
    servers.splice(0).forEach((server) => server.close())
    const { running, lines, deliver } = await listening(url)
    expect(await deliver()).toBe(502)
    const answer = () => lines().find(({ kind }) => kind === 'answer')
    expect(await waitFor(answer)).toMatchObject({ status: null, reason: 'nothing listens there' })
    running.child.kill('SIGINT')
    await running.ended
  })

  it('hands on nothing that is not authentic', async () => {
    const app = await application()
    const { running, deliver } = await listening(app.url)
    expect(await deliver({ ...sign(`${BODY} `, SECRET) })).toBe(400)
    expect(app.taken).toEqual([])
    running.child.kill('SIGINT')
    await running.ended
  })

  it('shows a person the answer', async () => {
    const app = await application((_req, res) => res.writeHead(500).end('<h1>\u001b[31mno</h1>'))
    const env = { SIGNET_WEBHOOK_SECRET: SECRET }
    const running = world.machine.start(['listen', '--forward-to', app.url], { env })
    const url = await waitFor(() => /Listening on (\S+)/.exec(running.stdout())?.[1])
    await fetch(url, { method: 'POST', headers: sign(BODY, SECRET), body: BODY })
    running.child.kill('SIGINT')
    const { stdout } = await running.ended
    expect(stdout).toMatch(/→ http:\S+\/hook\?x=1 answered 500 {2}in \d+ ms\n<h1>\\u001b\[31mno<\/h1>\n/)
  })

  it.each([
    'localhost:3000',
    'ftp://localhost',
    'nothing',
    'http:localhost:3000',
    'http:///127.0.0.1:3000',
    'http:\\\\127.0.0.1:3000',
    'http://127.0.0.1:3000\\hook',
    'http://127.0.\t0.1:3000',
    'http://127.0.0.1:3000/\u200bhook',
  ])('takes %j for no address', async (address) => {
    const ended = await world.machine.run(['listen', '--forward-to', address])
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--forward-to')])
    const sent = await world.machine.run(['trigger', 'webhook.ping', '--to', address])
    expect([sent.code, sent.stderr]).toEqual([2, expect.stringContaining("'--to <address>'")])
  })
})

describe('the address of an application', () => {
  it.each([
    'http://ann:hunter2@127.0.0.1:3000/hook',
    'http://hunter2@127.0.0.1:3000/hook',
    'ann:hunter2@127.0.0.1:3000',
  ])('is refused with a password in it, which is not shown: %s', async (address) => {
    for (const [option, ...args] of [
      ['--forward-to', 'listen', '--forward-to', address],
      ['--to', 'trigger', 'webhook.ping', '--to', address],
    ] as const) {
      const ended = await world.machine.run(args, world.signedIn())
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(option)])
      expect(ended.stdout + ended.stderr).not.toContain('hunter2')
    }
    expect(world.service.seen).toEqual([])
  })

  it('may have an @ elsewhere', async () => {
    const app = await application()
    const { running, deliver } = await listening(`${app.url}&who=@ann`, '--count', '1')
    expect(await deliver()).toBe(204)
    expect((await running.ended).code).toBe(0)
  })
})

describe('trigger', () => {
  const signedIn = (more: Record<string, string> = { SIGNET_WEBHOOK_SECRET: SECRET }) => ({
    env: { ...world.signedIn().env, ...more },
  })

  it('posts a sample, signed in both forms and under an id of its own each time', async () => {
    const app = await application()
    const args = ['trigger', 'summary.completed', '--to', app.url, '--json']
    const first = json<{ event_id: string }>(await world.machine.run(args, signedIn()))
    const second = json<{ event_id: string }>(await world.machine.run(args, signedIn()))
    const events = app.taken.map(({ body, request }) => verify(body, request.headers, SECRET))
    expect(events).toMatchObject([
      { id: first.event_id, type: 'summary.completed', data: { audio_id: 'rec_1001' } },
      { id: second.event_id },
    ])
    expect(first.event_id).not.toBe(second.event_id)
    expect(first).toMatchObject({ answer: { status: 204, url: app.url } })
    expect(Object.keys(app.taken[0]?.request.headers ?? {})).toEqual(
      expect.arrayContaining(['x-service-signature', 'webhook-signature', 'x-service-event']),
    )
  })

  it('ends with 1 when the application does not accept it', async () => {
    const app = await application((_req, res) => res.writeHead(500).end('no'))
    const ended = await world.machine.run(['trigger', 'webhook.ping', '--to', app.url], signedIn())
    expect(ended.code).toBe(1)
    expect(ended.stdout).toContain('answered 500')
    expect(ended.stderr).toContain('did not accept')
  })

  it('lets the service send a ping', async () => {
    const app = await application()
    const { id } = world.service.addHook(app.url, [])
    const ended = await world.machine.run(['trigger', 'webhook.ping', '--webhook', id], world.signedIn())
    expect(ended).toMatchObject({ code: 0 })
    expect(world.service.seen.at(-1)?.path).toBe(`/v1/webhooks/${id}/test`)
    await waitFor(() => app.taken.length === 1, { describe: 'the ping' })
  })

  it.each<[string, string[], Record<string, string>?]>([
    ['no place', ['webhook.ping']],
    ['two places', ['webhook.ping', '--to', 'http://localhost:1', '--webhook', '42']],
    ['a type that the service does not send', ['summary.completed', '--webhook', '42']],
    ['half a secret', ['webhook.ping', '--to', 'http://localhost:1'], { SIGNET_WEBHOOK_SECRET: 'whsec_AAE' }],
  ])('does nothing with %s', async (_what, args, env = {}) => {
    expect((await world.machine.run(['trigger', ...args], signedIn(env))).code).toBe(2)
    expect(world.service.seen).toEqual([])
  })

  it('asks for a secret only for a type that there is', async () => {
    const app = await application()
    const trigger = (type: string) => world.machine.run(['trigger', type, '--to', app.url], signedIn({}))
    const known = await trigger('webhook.ping')
    expect([known.code, known.stderr]).toEqual([2, expect.stringContaining('no secret to sign with')])
    const message = "'bogus' is no event type"
    world.service.behavior.override = () => ({
      status: 400,
      body: { error: { code: 'bad_request', message } },
    })
    const unknown = await trigger('bogus')
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining(message)])
    expect(app.taken).toEqual([])
  })
})
