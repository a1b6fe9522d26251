import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import type { TranscriptFields } from '@signet/webhook-core/stores'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const ADMIN_TOKEN = 'operator-token-of-at-least-32-bytes!'

describe('the log of a dispatcher at its most talkative', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({
      env: {
        DISPATCHER_ADMIN_TOKEN: ADMIN_TOKEN,
        DISPATCHER_RETRY_DELAYS_SECONDS: '0.05',
        // One of the receivers hangs.
        DISPATCHER_TIMEOUT_MS: '300',
      },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it('holds no secret, key, token, payload, url or answer of a receiver, however attempts end', async () => {
    const subscriber = dispatcher.subscriber()
    const endpoints = []
    for (const [path, answer] of [
      ['/ok', reply(200)],
      [
        '/refuses',
        reply(500, { body: 'answer-of-receiver', headers: { 'set-cookie': 'session=hidden-cookie' } }),
      ],
      ['/hangs', { kind: 'hang' as const }],
      ['/garbage', { kind: 'garbage' as const }],
      ['/unreadable', reply(200)],
    ] as const) {
      receiver.hook(path, { otherwise: answer })
      endpoints.push(await subscriber.endpoint(`${receiver.url(path)}?token=hidden-query`))
    }
    await dispatcher.db.query(
      `update webhook_endpoints set secret_ciphertext = set_byte(secret_ciphertext, 0, get_byte(secret_ciphertext, 0) # 1)
       where id = $1`,
      [endpoints[4]?.id],
    )
    const ends = () =>
      new Set(dispatcher.logLines.filter(({ msg }) => msg === 'attempt').map(({ result }) => result))
    // On a busy machine any attempt may time out, so the test publishes events until it has seen every outcome.
    for (let published = 1; ends().size < endpoints.length; published += 1) {
      await subscriber.summary({
        recording: { title: 'hidden-title' },
        transcript: { language: 'en', text: 'hidden-transcript' } satisfies TranscriptFields,
        summaries: [{ label: 'Summary', content: '<p>hidden-summary</p>', format: 'html' }],
      })
      await waitFor(async () => {
        const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return rows.length === published * endpoints.length && rows.every(({ status }) => status !== 0)
      })
    }
    expect(ends()).toEqual(
      new Set(['delivered', 'http_500', 'timeout', 'invalid_response', 'internal_error']),
    )
    const log = JSON.stringify(dispatcher.logLines)
    expect(log).not.toMatch(/hidden-|answer-of-receiver|whsec_|sha256=|https?:\/\//)
    const { WEBHOOKS_SECRET_KEYS: keys = '', WEBHOOKS_DATABASE_URL: database = '' } = dispatcher.env
    const hidden = [ADMIN_TOKEN, keys.split(':')[1] ?? '', new URL(database).password, '127.0.0.1']
    for (const text of [...hidden, ...endpoints.map(({ secret }) => secret)].filter(Boolean))
      expect(log).not.toContain(text)
  })
})
