import { randomBytes } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { startAnother } from './support/dispatcher.js'
import { useOperator } from './support/operator.js'

const operator = useOperator()

it('lists disabled endpoints with the failure that disabled them, and enables one with a clean count, by name', async () => {
  const { endpoint, rows, subscriber } = await operator.failed('/enable', 1)
  await operator.dispatcher.db.query(
    `update webhook_endpoints set status = 2, consecutive_failures = 20, disabled_at = now(), disabled_reason = 'timeout'
     where id = $1`,
    [endpoint.id],
  )
  expect(await operator.json('disabled', '--since', '10m')).toEqual([
    {
      endpointId: endpoint.id,
      accountId: subscriber.accountId,
      at: expect.any(String),
      lastError: 'timeout',
    },
  ])
  const enable = () => operator.run('enable', '--endpoint', endpoint.id, '--why', 'our proxy was down')
  const outcomes = await Promise.all([enable(), enable()])
  expect(outcomes.map(({ code }) => code).sort()).toEqual([0, 3])
  const { rows: after } = await operator.dispatcher.db.query(
    'select status, consecutive_failures, disabled_at from webhook_endpoints where id = $1',
    [endpoint.id],
  )
  expect(after).toEqual([{ status: 1, consecutive_failures: 0, disabled_at: null }])
  expect(await operator.actions()).toMatchObject([
    {
      operator: 'ada',
      action: 'enable',
      detail: { endpoint_id: endpoint.id, reason: 'our proxy was down' },
    },
  ])
  expect(await operator.run('disabled')).toMatchObject({ code: 0, out: 'None.\n' })
  expect(await operator.run('requeue', rows[0]?.id ?? '', '--why', 'after the outage')).toMatchObject({
    code: 0,
  })
})

it('seals signing secrets with a new key while deliveries go on, after which the old key is not needed', async () => {
  const subscriber = operator.dispatcher.subscriber()
  const endpoint = await subscriber.endpoint(operator.receiver.url('/reseal'))
  operator.receiver.hook('/reseal', { secret: endpoint.secret })
  const next = await subscriber.nextSecret(endpoint)
  const oldKey = operator.dispatcher.env['WEBHOOKS_SECRET_KEYS'] ?? ''
  const newKey = `new:${randomBytes(32).toString('base64')}`
  operator.dispatcher.env['WEBHOOKS_SECRET_KEYS'] = newKey
  expect(await operator.run('reseal', '--why', 'rotation')).toMatchObject({ code: 1 })
  operator.dispatcher.env['WEBHOOKS_SECRET_KEYS'] = `${newKey},${oldKey}`
  expect(await operator.json('reseal', '--why', 'rotation')).toEqual({ resealed: 2 })
  expect(await operator.json('reseal', '--why', 'rotation')).toEqual({ resealed: 0 })
  await operator.dispatcher.engine.stop()
  const successor = startAnother(
    { ...operator.dispatcher.env, WEBHOOKS_SECRET_KEYS: newKey },
    { ca: operator.receiver.authorityCert },
  )
  try {
    await subscriber.summary()
    const delivery = await operator.receiver.waitForDelivery({ path: '/reseal' })
    expect(delivery).toMatchObject({ verified: true })
    new Webhook(next).verify(delivery.body, delivery.headers as Record<string, string>)
  } finally {
    await successor.stop()
  }
})
