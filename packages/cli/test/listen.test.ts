import { writeFileSync } from 'node:fs'
import { request as secureRequest } from 'node:https'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createAuthority, issueCertificate } from '@signet/local'
import { waitFor } from '@signet/testkit'
import type { Running } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()

type Line = { kind: string; url?: string; endpoint_id?: string; [member: string]: unknown }
const EVENT = {
  id: 'evt_1',
  type: 'webhook.ping',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { endpoint_id: '1', message: 'Hi' },
}
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'

const lines = (text: string): Line[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))

/** Starts the tool as a receiver and waits until it listens. */
async function listening(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ running: Running; url: string }> {
  const running = world.machine.start(['listen', '--json', ...args], {
    env: { ...world.signedIn().env, ...env },
  })
  const url = await waitFor(() => lines(running.stdout()).find(({ kind }) => kind === 'start')?.url, {
    describe: `the receiver; stderr: ${running.stderr()}`,
  })
  return { running, url }
}

const hook = (url: string, secret = SECRET) => ({ ...world.service.hooks[0], url, secret }) as never

describe('listen --create', () => {
  it('verifies what arrives at a temporary webhook and deletes it at the end', async () => {
    const { running } = await listening(['--create', '--count', '1'])
    const [created] = world.service.hooks
    expect(created?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    const tested = await world.machine.run(['webhooks', 'test', created?.id ?? ''], world.signedIn())
    expect(tested.code).toBe(0)
    const ended = await running.ended
    expect(ended.code).toBe(0)
    expect(lines(ended.stdout)).toMatchObject([
      { kind: 'start', endpoint_id: created?.id },
      { kind: 'delivery', verified: true, event_type: 'webhook.ping', delivery_id: '981', repeated: false },
      { kind: 'end', accepted: 1 },
    ])
    expect(world.service.hooks).toEqual([])
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('deletes the webhook at %s', async (signal) => {
    const { running } = await listening(['--create'])
    running.child.kill(signal)
    expect((await running.ended).code).toBe(0)
    expect(world.service.hooks).toEqual([])
  })

  it('registers the address of a tunnel', async () => {
    const { running } = await listening(['--create', '--public-url', 'https://tunnel.example.com/x'])
    expect(world.service.hooks[0]).toMatchObject({
      url: 'https://tunnel.example.com/x',
      events: ['summary.completed'],
    })
    running.child.kill('SIGINT')
    await running.ended
  })

  it('says how to delete the webhook when that failed', async () => {
    const { running } = await listening(['--create'])
    const id = world.service.hooks[0]?.id
    world.service.behavior.override = ({ method }) =>
      method === 'DELETE'
        ? { status: 503, body: { error: { code: 'unavailable', message: 'Later' } } }
        : undefined
    running.child.kill('SIGINT')
    const ended = await running.ended
    expect(ended.code).toBe(5)
    expect(ended.stderr).toContain(`signet webhooks delete ${id}`)
  })

  it('never shows the secret', async () => {
    const { running } = await listening(['--create'])
    const secret = world.service.hooks[0]?.secret
    running.child.kill('SIGINT')
    const { stdout, stderr } = await running.ended
    expect(stdout + stderr).not.toContain(secret)
  })

  it('needs a sign-in', async () => {
    expect((await world.machine.run(['listen', '--create'])).code).toBe(3)
  })
})

describe('listen', () => {
  it('answers 204 to authentic deliveries, 400 to others, and marks repeated events', async () => {
    const { running, url } = await listening(['--count', '2'], { SIGNET_WEBHOOK_SECRET: SECRET })
    expect(await world.service.deliver(hook(url, 'whsec_other'), EVENT)).toBe(400)
    expect(await world.service.deliver(hook(url), EVENT, { 'x-service-timestamp': '1767225600' })).toBe(400)
    expect(await world.service.deliver(hook(url), EVENT)).toBe(204)
    expect(await world.service.deliver(hook(url), EVENT)).toBe(204)
    const ended = await running.ended
    expect(lines(ended.stdout).filter(({ kind }) => kind === 'delivery')).toMatchObject([
      { verified: false, reason: 'signature_mismatch', repeated: false },
      { verified: false, reason: 'signature_mismatch', repeated: false },
      { verified: true, repeated: false, payload: EVENT },
      { verified: true, repeated: true },
    ])
  })

  it('answers and shows a body that is nested without end', async () => {
    const { running, url } = await listening(['--count', '1'], { SIGNET_WEBHOOK_SECRET: SECRET })
    const body = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    expect((await fetch(url, { method: 'POST', body })).status).toBe(400)
    expect(await world.service.deliver(hook(url), EVENT)).toBe(204)
    const { stdout } = await running.ended
    expect(lines(stdout).filter(({ kind }) => kind === 'delivery')).toMatchObject([
      { verified: false, payload: body },
      { verified: true },
    ])
  })

  it.each(['AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8', 'whsec_ with spaces'])(
    'does not listen with %j for a secret, which verifies nothing',
    async (wrong) => {
      const ended = await world.machine.run(['listen'], { env: { SIGNET_WEBHOOK_SECRET: wrong } })
      expect(ended).toMatchObject({ code: 2, stdout: '' })
      expect(ended.stderr).toContain('SIGNET_WEBHOOK_SECRET is not a webhook secret')
      expect(ended.stderr).not.toContain(wrong)
    },
  )

  it('says so when it cannot verify', async () => {
    const { running, url } = await listening(['--count', '1'])
    expect(await world.service.deliver(hook(url), EVENT)).toBe(204)
    const ended = await running.ended
    expect(lines(ended.stdout)[1]).toMatchObject({ verified: null })
    expect(ended.stderr).toContain('not verified')
  })

  it('shows people the result and the payload, shortened unless --full', async () => {
    const long = { ...EVENT, data: { lines: Array.from({ length: 60 }, (_, index) => `line ${index}`) } }
    const show = async (...args: string[]) => {
      const running = world.machine.start(['listen', '--count', '1', ...args], {
        env: { SIGNET_WEBHOOK_SECRET: SECRET },
      })
      const url = await waitFor(() => /http:\S+/.exec(running.stdout())?.[0])
      await world.service.deliver(hook(url), long)
      return (await running.ended).stdout
    }
    const text = await show()
    expect(text).toMatch(/✓ verified {2}webhook\.ping {2}evt_1 {2}delivery 981/)
    expect(text).toContain('more lines; --full')
    expect(text).not.toContain('line 59')
    expect(text).toContain('\n1 delivery accepted.\n')
    expect(await show('--full')).toContain('line 59')
  })

  it('answers 405 to anything but POST', async () => {
    const { running, url } = await listening([])
    expect((await fetch(url)).status).toBe(405)
    running.child.kill('SIGINT')
    await running.ended
  })

  it('serves https with a certificate of your own', async () => {
    const { machine } = world
    const authority = await createAuthority()
    const { cert, key } = await issueCertificate(authority)
    const [certFile, keyFile] = [join(machine.home, 'cert.pem'), join(machine.home, 'key.pem')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
    const { running, url } = await listening(['--count', '1', '--tls-cert', certFile, '--tls-key', keyFile])
    expect(url).toMatch(/^https:/)
    const status = await new Promise((resolve, reject) => {
      secureRequest(url, { method: 'POST', ca: authority.cert }, ({ statusCode }) => resolve(statusCode))
        .on('error', reject)
        .end(JSON.stringify(EVENT))
    })
    expect(status).toBe(204)
    expect((await running.ended).code).toBe(0)
  })

  it('wants certificate and key together, and readable', async () => {
    expect((await world.machine.run(['listen', '--tls-cert', 'cert.pem'])).code).toBe(2)
    expect((await world.machine.run(['listen', '--tls-cert', 'no.pem', '--tls-key', 'no.pem'])).code).toBe(2)
  })

  it('names a port that is taken', async () => {
    const port = new URL(world.service.url).port
    const ended = await world.machine.run(['listen', '--port', port])
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('EADDRINUSE')
  })
})
