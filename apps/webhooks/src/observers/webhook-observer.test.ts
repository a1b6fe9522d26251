import { expect, it } from '@jest/globals'
import { createLogger, createRegistry } from '@signet/telemetry'
import { createWebhookObserver } from './webhook-observer.js'

it('logs an outage of Redis once, however many events it leaves to the sweeper, and counts them all', async () => {
  const lines: { msg: string }[] = []
  const log = createLogger({
    level: 'info',
    component: 'webhooks',
    sink: (line) => lines.push(JSON.parse(line) as { msg: string }),
  })
  const registry = createRegistry({ runtime: false })
  const observer = createWebhookObserver(log, registry)
  for (let i = 0; i < 20; i += 1) observer.publishMissed(2, new Error('Redis is not connected'))
  expect(lines).toMatchObject([
    { msg: 'events left to the sweeper', error_message: 'Redis is not connected' },
  ])
  expect(await registry.metrics()).toContain('webhook_events_publish_failed_total 40')
})
