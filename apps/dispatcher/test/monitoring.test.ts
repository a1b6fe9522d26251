import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findPromtool } from '@signet/local'
import { startReceiver, type Receiver } from '@signet/local'
import { waitFor } from '@signet/testkit'
import request from 'supertest'
import { parse } from 'yaml'
import { createApp } from '../src/app.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = `${root}/infra/monitoring`
const read = (file: string) => readFileSync(`${folder}/${file}`, 'utf8')

type Alert = { alert: string; expr: string; annotations: { runbook: string } }
type Panel = { title: string; targets: { expr: string }[] }
type AlertTests = { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]

const { groups } = parse(read('prometheus/dispatcher.rules.yaml')) as { groups: { rules: Alert[] }[] }
const alerts = groups.flatMap(({ rules }) => rules)
const { panels } = JSON.parse(read('grafana/dispatcher.json')) as { panels: Panel[] }

/** Prometheus adds this one itself. */
const OF_PROMETHEUS = ['up']

function metricsIn(expr: string): string[] {
  const bare = expr.replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ').replace(/\b(by|on)\s*\([^)]*\)/g, ' ')
  return [...bare.matchAll(/\b([a-z][a-z_]+)\b(?!\s*\()/g)]
    .map(([, name = '']) => name)
    .filter((name) => !['and', 'or', 'unless'].includes(name))
}

describe('monitoring', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
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
    const page = await waitFor(async () => {
      const { text } = await request(createApp(dispatcher)).get('/metrics').expect(200)
      return text.includes('attempts_total{result="delivered"} 1') && text
    })
    const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    exported = new Set(
      types.flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    )
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it.each(alerts.map((alert) => [alert.alert, alert] as const))(
    '%s looks at metrics that a running dispatcher exports, and names a runbook that exists',
    (_name, { expr, annotations }) => {
      const metrics = metricsIn(expr).filter((name) => !OF_PROMETHEUS.includes(name))
      expect(metrics.filter((name) => !exported.has(name))).toEqual([])
      expect(annotations.runbook).toMatch(/^apps\/dispatcher\/docs\/runbooks\/[a-z-]+\.md$/)
      expect(existsSync(`${root}/${annotations.runbook}`)).toBe(true)
    },
  )

  it('draws nothing that a running dispatcher does not export, and all that was asked for', () => {
    const drawn = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)))
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
    const { tests } = parse(read('prometheus/dispatcher.rules.test.yaml')) as { tests: AlertTests }
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
    for (const { alert } of alerts) {
      const raised = cases
        .filter(({ alertname }) => alertname === alert)
        .map(({ exp_alerts }) => exp_alerts.length > 0)
      expect([alert, raised.sort()]).toEqual([alert, [false, true]])
    }
  })

  it('has rules that pass their own tests in promtool, where promtool can be had', async () => {
    const promtool = await findPromtool()
    const options = { cwd: `${folder}/prometheus` }
    if (!promtool) return console.warn('The alert rules were read and not run: promtool cannot be had here.')
    const check = await promisify(execFile)(promtool, ['check', 'rules', 'dispatcher.rules.yaml'], options)
    expect(check.stdout).toContain(`SUCCESS: ${alerts.length} rules found`)
    const test = await promisify(execFile)(promtool, ['test', 'rules', 'dispatcher.rules.test.yaml'], options)
    expect(test.stdout).toContain('SUCCESS')
  }, 120_000)
})
