import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Authority } from '@signet/local'
import { createAuthority } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { startOldReceiver, type OldReceiver } from './support/old-tls.js'

describe('TLS 1.2 at least', () => {
  let authority: Authority
  let receiver: OldReceiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    authority = await createAuthority()
    receiver = await startOldReceiver(authority, 'hook.example.com')
    dispatcher = await startDispatcher({
      ports: {
        ca: authority.cert,
        resolver: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
      },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    receiver.close()
  })

  it('ends an attempt at a receiver that offers TLS 1.1 alone with `tls_error`, and sends it nothing', async () => {
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint(`https://hook.example.com:${receiver.port}/`)
    await subscriber.summary()
    const row = await waitFor(async () => {
      const [delivery] = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return delivery && delivery.attempts > 0 && delivery
    })
    expect(row).toMatchObject({ status: 0, attempts: 1, last_error: 'tls_error' })
    expect(receiver.requests).toBe(0)
    const { rows } = await dispatcher.db.query<{ problem: string }>(
      `select exchange ->> 'tls_problem' as problem from webhook_attempts where delivery_id = $1`,
      [row.id],
    )
    expect(rows).toEqual([{ problem: 'old_tls_version' }])
  })
})
