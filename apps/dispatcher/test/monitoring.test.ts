import { afterAll, beforeAll } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { describeMonitoring } from '@signet/testkit/monitoring-tests'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

let receiver: Receiver
let dispatcher: TestDispatcher
let page: string
beforeAll(async () => {
  receiver = await startReceiver()
  // As in production, where the page has metrics of the process as well.
  dispatcher = await startDispatcher({
    env: { NODE_ENV: 'development' },
    ports: { ca: receiver.authorityCert },
  })
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/monitoring'))
  await subscriber.summary()
  await receiver.waitForDelivery({ path: '/monitoring' })
  page = await waitFor(async () => {
    const { text } = await request(createApp(dispatcher)).get('/metrics').expect(200)
    return text.includes('attempts_total{result="delivered"} 1') && text
  })
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

describeMonitoring({
  service: 'dispatcher',
  page: () => page,
  drawn: [
    ...['queue_jobs', 'oldest_due_age_seconds', 'attempts_total', 'attempt_seconds_bucket', 'in_flight'],
    ...['disabled_endpoints', 'swept_total', 'retries_total', 'dropped_jobs_total'],
  ].map((name) => `signet_delivery_${name}`),
})
