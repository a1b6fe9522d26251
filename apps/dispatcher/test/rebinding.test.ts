import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { startStepwise, type Stepwise } from './support/stepwise.js'

describe('a name that came to mean another address', () => {
  let receiver: Receiver
  let dispatcher: Stepwise
  const addresses = ['127.0.0.1']
  beforeAll(async () => {
    receiver = await startReceiver({ publicHost: 'hook.example.com' })
    dispatcher = await startStepwise({
      env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'false' },
      ports: {
        ca: receiver.authorityCert,
        resolver: () =>
          Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))),
      },
    })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it.each([
    ['a private address', ['127.0.0.1']],
    ['a private address beside a public one', ['1.1.1.1', '127.0.0.1']],
    ['an IPv4-mapped private address', ['::ffff:127.0.0.1']],
  ])('%s: no connection, `blocked_address`, an attempt that counts', async (_, resolved) => {
    addresses.splice(0, addresses.length, ...resolved)
    const before = receiver.connections
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(`https://hook.example.com:${receiver.port}/`)
    const [row] = await dispatcher.dispatched(subscriber)
    if (!row) throw new Error('no delivery was made')
    await dispatcher.attempt(row)
    expect(await dispatcher.row(row.id)).toMatchObject({
      status: 0,
      attempts: 1,
      last_error: 'blocked_address',
    })
    expect(receiver.connections).toBe(before)
    const { rows } = await dispatcher.db.query(
      'select consecutive_failures from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(rows).toEqual([{ consecutive_failures: 1 }])
  })
})
