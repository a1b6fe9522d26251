import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AlertRules, countsMissing, exportedOn, metricsDrawn, metricsIn } from '@signet/testkit/alert-rules'
import { startServer, type TestServer } from './support/server.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const rules = new AlertRules('auth')

describe('monitoring', () => {
  let server: TestServer
  let page: string
  beforeAll(async () => {
    server = await startServer({ AUTH_METRICS_ENABLED: 'true' })
    page = await server.context.registry.metrics()
  })
  afterAll(() => server.close())

  it.each(rules.alerts.map((alert) => [alert.alert, alert] as const))(
    '%s looks at metrics that a running server exports, and names a runbook that exists',
    (_name, { expr, annotations }) => {
      expect(metricsIn(expr).filter((name) => !exportedOn(page).has(name))).toEqual([])
      expect(countsMissing(expr, page)).toEqual([])
      expect(annotations.runbook).toMatch(/^apps\/auth\/docs\/runbooks\/[a-z-]+\.md$/)
      expect(existsSync(`${root}/${annotations.runbook}`)).toBe(true)
    },
  )

  it('draws only what a running server exports', () => {
    const drawn = metricsDrawn('auth')
    expect(drawn.length).toBeGreaterThan(20)
    expect(drawn.filter((name) => !exportedOn(page).has(name))).toEqual([])
  })

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

  it('has a test that fires each alert and one that does not', () => {
    for (const { alert } of rules.alerts)
      expect([alert, [...new Set(rules.outcomes(alert))].sort()]).toEqual([alert, [false, true]])
  })

  it('has rules that pass their own tests in promtool, if it is installed', async () => {
    const said = await rules.promtool()
    if (!said) return console.warn('The alert rules were read and not run: promtool is not available here.')
    expect(said.check).toContain(`SUCCESS: ${rules.alerts.length} rules found`)
    expect(said.test).toContain('SUCCESS')
  })
})
