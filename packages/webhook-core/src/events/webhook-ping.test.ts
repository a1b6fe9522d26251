import { expect, it } from '@jest/globals'
import { webhookPing } from './webhook-ping.js'

it('has the documented bytes', () => {
  const header = {
    id: 'evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0',
    createdAt: new Date('2026-01-01T00:00:00.000Z'),
  } as const
  expect(webhookPing.build(header, { endpointId: '42' })).toBe(
    '{"id":"evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0","type":"webhook.ping","created_at":"2026-01-01T00:00:00.000Z",' +
      '"data":{"endpoint_id":"42","message":"This is a test event."}}',
  )
})
