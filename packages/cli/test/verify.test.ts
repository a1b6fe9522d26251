import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { sign } from '@signet/webhook-verify'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
// Formatted unlike the output of JSON.stringify, because every byte counts.
const BODY =
  '{ "id":"evt_1", "type":"webhook.ping","created_at":"2026-01-01T00:00:00.000Z",\n "data":{"é":1.0}}'

const signed = (family: RegExp, ageSeconds = 0) =>
  Object.entries(sign(BODY, SECRET, { now: () => new Date(Date.now() - ageSeconds * 1000) }))
    .filter(([name]) => family.test(name))
    .flatMap(([name, value]) => ['--header', `${name}: ${value}`])

const env = { SIGNET_WEBHOOK_SECRET: SECRET }
const verify = (args: string[], input = BODY, more: Record<string, string | undefined> = env) =>
  world.machine.run(['verify', '--json', ...args], { env: more, input })

describe('verify', () => {
  it.each([
    ['X-Service', /^X-Service/],
    ['Standard Webhooks', /^webhook-/],
  ])('takes a request by its headers of %s', async (_, family) => {
    const ended = await verify(signed(family))
    expect(json(ended)).toEqual({ verified: true, event_id: 'evt_1', event_type: 'webhook.ping' })
    expect(ended.code).toBe(0)
  })

  it('reads the body from a file, byte for byte', async () => {
    const file = join(world.machine.home, 'body.json')
    writeFileSync(file, BODY)
    const ended = await world.machine.run(['verify', file, ...signed(/./)], { env })
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('verified  webhook.ping  evt_1') })
  })

  it.each<[string, string[], string, string]>([
    ['signature_mismatch', signed(/./), `${BODY}\n`, 'another body'],
    ['timestamp_too_old', signed(/./, 600), BODY, 'a request of ten minutes ago'],
    ['missing_header', signed(/^X-Service-Signature/), BODY, 'no time'],
    ['malformed_header', [...signed(/^webhook-/), ...signed(/^webhook-id/)], BODY, 'a header twice'],
  ])('ends with 1 and %s for a request that is not authentic', async (code, args, body) => {
    const ended = await verify(args, body)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code, exit_code: 1 } })
  })

  it.each<[string, string[]]>([
    ['webhook-timestamp', ['webhook-id: a']],
    ['webhook-id', ['webhook-timestamp: 1']],
    ['webhook-id', ['webhook-id:', 'X-Service-Event: webhook.ping']],
    ['webhook-signature', ['webhook-id: a', 'Webhook-Timestamp: 1']],
    ['X-Service-Timestamp', ['webhook-id: a', 'X-Service-Signature: sha256=']],
    ['X-Service-Timestamp', ['content-type: application/json']],
  ])('names %s as missing where there is only %j', async (name, lines) => {
    const ended = await verify(lines.flatMap((line) => ['--header', line]))
    expect(JSON.parse(ended.stderr)).toEqual({
      error: { code: 'missing_header', message: `Header ${name} is missing`, exit_code: 1 },
    })
  })

  it('takes an old request where that was asked for', async () => {
    const ended = await verify([...signed(/./, 600), '--tolerance-seconds', '3600'])
    expect(ended.code).toBe(0)
  })

  it.each<[string, string[], Record<string, string | undefined>]>([
    ['no secret', signed(/./), {}],
    ['no header', [], env],
    ['a header that is none', ['--header', 'webhook-id evt_1'], env],
    ['a file that is not there', ['/nowhere/body.json', ...signed(/./)], env],
  ])('ends with 2 for %s', async (_, args, more) => {
    expect(await verify(args, BODY, more)).toMatchObject({ code: 2, stdout: '' })
  })
})
