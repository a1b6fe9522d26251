import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/local'
import { waitFor } from '@signet/testkit'
import { AlertRules, countsMissing, exportedOn, metricsDrawn, metricsIn } from '@signet/testkit/alert-rules'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const rules = new AlertRules('dispatcher')

describe('monitoring', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  let page: string
  let exported: Set<string>
  beforeAll(async () => {
    receiver = await startReceiver()
    // As in production, where metrics of the process come on top.
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
    exported = exportedOn(page)
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it.each(rules.alerts.map((alert) => [alert.alert, alert] as const))(
    '%s looks at metrics that a running dispatcher exports, and names a runbook that exists',
    (_name, { expr, annotations }) => {
      expect(metricsIn(expr).filter((name) => !exported.has(name))).toEqual([])
      expect(countsMissing(expr, page)).toEqual([])
      expect(annotations.runbook).toMatch(/^apps\/dispatcher\/docs\/runbooks\/[a-z-]+\.md$/)
      expect(existsSync(`${root}/${annotations.runbook}`)).toBe(true)
    },
  )

  it('draws nothing that a running dispatcher does not export, and all that was asked for', () => {
    const drawn = metricsDrawn('dispatcher')
    expect(drawn.filter((name) => !exported.has(name))).toEqual([])
    const wanted = [
      'queue_jobs',
      'oldest_due_age_seconds',
      'attempts_total',
      'attempt_seconds_bucket',
      'in_flight',
    ]
    wanted.push('disabled_endpoints', 'swept_total', 'retries_total')
    expect(wanted.filter((name) => !drawn.includes(`signet_delivery_${name}`))).toEqual([])
  })

  it('has a test that raises each alert and one that does not', () => {
    for (const { alert } of rules.alerts)
      expect([alert, rules.outcomes(alert).sort()]).toEqual([alert, [false, true]])
  })

  it('has rules that pass their own tests in promtool, where promtool is available', async () => {
    const said = await rules.promtool()
    if (!said) return console.warn('The alert rules were read and not run: promtool is not available here.')
    expect(said.check).toContain(`SUCCESS: ${rules.alerts.length} rules found`)
    expect(said.test).toContain('SUCCESS')
  })
})
