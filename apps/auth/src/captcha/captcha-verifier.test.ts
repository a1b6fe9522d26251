import { createServer, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { listenLocally, type LocalServer } from '@signet/testkit'
import { createOutbound } from '../outbound/outbound.js'
import { createCaptchaVerifier, type CaptchaConfig } from './captcha-verifier.js'

type Seen = { path: string | undefined; contentType: string | undefined; body: Record<string, string> }

describe('captcha (docs/specification.md#captcha)', () => {
  let seen: Seen[] = []
  let answer: (res: ServerResponse) => void
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => (text += chunk.toString()))
    req.on('end', () => {
      const body = Object.fromEntries(new URLSearchParams(text))
      seen.push({ path: req.url, contentType: req.headers['content-type'], body })
      answer(res)
    })
  })
  const outbound = createOutbound({ allowPrivateUrls: true })
  let provider: LocalServer
  beforeAll(async () => {
    provider = await listenLocally(server)
  })
  afterAll(async () => {
    await outbound.close()
    await provider.close()
  })
  beforeEach(() => {
    seen = []
    answer = (res) => res.end(JSON.stringify({ success: true, hostname: 'app.dev' }))
  })

  const verifier = (config: Partial<CaptchaConfig> = {}) =>
    createCaptchaVerifier({
      config: { enabled: true, provider: 'hcaptcha', secret: 's3cret', timeoutMs: 60_000, ...config },
      outbound,
      verifyUrls: { hcaptcha: `${provider.origin}/h`, turnstile: `${provider.origin}/t` },
    })

  it.each([
    ['hcaptcha', '/h'],
    ['turnstile', '/t'],
  ] as const)('asks %s with a form of secret, response and remoteip', async (provider, path) => {
    await expect(verifier({ provider }).verify(' token ', '192.0.2.1')).resolves.toBeUndefined()
    expect(seen).toEqual([
      {
        path,
        contentType: 'application/x-www-form-urlencoded',
        body: { secret: 's3cret', response: 'token', remoteip: '192.0.2.1' },
      },
    ])
  })

  it('lets everything pass while it is switched off', async () => {
    await expect(verifier({ enabled: false }).verify(undefined, '192.0.2.1')).resolves.toBeUndefined()
    expect(seen).toHaveLength(0)
  })

  it.each([undefined, '', '   '])('refuses the token %j without asking', async (token) => {
    await expect(verifier().verify(token, '192.0.2.1')).rejects.toMatchObject({
      kind: 'invalid',
      code: 'captcha_failed',
    })
    expect(seen).toHaveLength(0)
  })

  it.each([200, 400])('names the error codes of a refusal with status %s', async (status) => {
    const body = { success: false, 'error-codes': ['invalid-input-response', 'timeout-or-duplicate'] }
    answer = (res) => res.writeHead(status).end(JSON.stringify(body))
    await expect(verifier().verify('token', '192.0.2.1')).rejects.toMatchObject({
      kind: 'invalid',
      code: 'captcha_failed',
      message: expect.stringContaining('invalid-input-response, timeout-or-duplicate'),
    })
  })

  it.each<[string, (res: ServerResponse) => void]>([
    ['no JSON', (res) => res.end('<html>')],
    ['JSON without an answer', (res) => res.end('{}')],
    ['JSON null', (res) => res.end('null')],
    ['a broken connection', (res) => res.destroy()],
    ['no answer in time', () => undefined],
  ])('is a fault of the server: %s', async (_name, how) => {
    answer = how
    const failure = await verifier({ timeoutMs: 200 })
      .verify('token', '192.0.2.1')
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'internal', code: 'unexpected_failure' })
    expect((failure as Error).message).not.toMatch(/127\.0\.0\.1|s3cret/)
  })
})
