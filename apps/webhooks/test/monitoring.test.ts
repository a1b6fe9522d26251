import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createRegistry } from '@signet/telemetry'
import { AlertRules, countsMissing, exportedOn, metricsDrawn, metricsIn } from '@signet/testkit/alert-rules'
import { useApi } from './support/api.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const rules = new AlertRules('webhooks')

describe('monitoring', () => {
  const api = useApi()
  let page: string
  let exported: Set<string>
  beforeAll(async () => {
    page = await (await fetch(`${api.internalUrl}/metrics`)).text()
    // In production those of the process are on the same page.
    const ofProcess = await createRegistry({ runtime: true }).metrics()
    exported = exportedOn(`${page}\n${ofProcess}`)
  })

  it.each(rules.alerts.map((alert) => [alert.alert, alert] as const))(
    '%s looks at metrics that a running API exports, and names a runbook that exists',
    (_name, { expr, annotations }) => {
      expect(metricsIn(expr).filter((name) => !exported.has(name))).toEqual([])
      expect(countsMissing(expr, page)).toEqual([])
      expect(annotations.runbook).toMatch(/^apps\/webhooks\/docs\/runbooks\/[a-z-]+\.md$/)
      expect(existsSync(`${root}/${annotations.runbook}`)).toBe(true)
    },
  )

  it('draws only what a running API exports', () => {
    const drawn = metricsDrawn('webhooks')
    expect(drawn.length).toBeGreaterThan(20)
    expect(drawn.filter((name) => !exported.has(name))).toEqual([])
  })

  it('has a test that raises each alert and one that does not', () => {
    for (const { alert } of rules.alerts)
      expect([alert, [...new Set(rules.outcomes(alert))].sort()]).toEqual([alert, [false, true]])
  })

  it('has rules that pass their own tests in promtool, where promtool is available', async () => {
    const said = await rules.promtool()
    if (!said) return console.warn('The alert rules were read and not run: promtool is not available here.')
    expect(said.check).toContain(`SUCCESS: ${rules.alerts.length} rules found`)
    expect(said.test).toContain('SUCCESS')
  })
})
