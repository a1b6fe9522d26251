import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeMonitoring } from '@signet/testkit/monitoring-tests'
import { startServer, type TestServer } from './support/server.js'

let server: TestServer
let page: string
beforeAll(async () => {
  server = await startServer({ AUTH_METRICS_ENABLED: 'true' })
  page = await server.context.registry.metrics()
})
afterAll(() => server.close())

describeMonitoring({ service: 'auth', page: () => page, drawn: [] }, () => {
  // Prometheus sees no increase in a series that begins with 1: the first message that is given up would raise no alert.
  it.each(['email', 'sms', 'factor_sms', 'account_event', 'account_request'])(
    'begins to count messages of kind %s at 0',
    (kind) => {
      for (const reason of ['expired', 'refused', 'unreadable'])
        expect(page).toContain(`auth_outbox_given_up_total{kind="${kind}",reason="${reason}"} 0`)
      for (const outcome of ['sent', 'failed'])
        expect(page).toContain(`auth_outbox_attempts_total{kind="${kind}",outcome="${outcome}"} 0`)
      expect(page).toContain(`auth_outbox_oldest_seconds{kind="${kind}"} 0`)
    },
  )
})
