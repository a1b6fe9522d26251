import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { AlertRules, countsMissing, exportedOn, metricsDrawn, metricsIn } from './alert-rules.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))

type Monitored = {
  /** The name of the service in `infra/monitoring` and `apps`. */
  service: string
  /** The page that Prometheus scrapes from a running service, with the metrics that production adds. */
  page: () => string
  /** Metrics that the dashboard has to draw. */
  drawn: readonly string[]
}

/** Tests that the alert rules and the dashboard of every service pass; `more` adds the tests of one service. */
export function describeMonitoring({ service, page, drawn }: Monitored, more: () => void = () => {}): void {
  const rules = new AlertRules(service)
  const missing = (names: readonly string[]) => {
    const exported = exportedOn(page())
    return names.filter((name) => !exported.has(name))
  }

  describe(`monitoring of apps/${service}`, () => {
    it.each(rules.alerts.map((alert) => [alert.alert, alert] as const))(
      '%s looks at metrics that a running service exports, and names a runbook that lists it',
      (name, { expr, annotations }) => {
        expect(missing(metricsIn(expr))).toEqual([])
        expect(countsMissing(expr, page())).toEqual([])
        expect(annotations.runbook).toMatch(new RegExp(`^apps/${service}/docs/runbooks/[a-z-]+\\.md$`))
        const [symptoms] = readFileSync(`${root}/${annotations.runbook}`, 'utf8').split('\n## ')
        expect(symptoms).toContain(`\`${name}\``)
      },
    )

    it('draws only what a running service exports, and all that was asked for', () => {
      const onDashboard = metricsDrawn(service)
      expect(onDashboard.length).toBeGreaterThan(20)
      expect(missing(onDashboard)).toEqual([])
      expect(drawn.filter((name) => !onDashboard.includes(name))).toEqual([])
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

    more()
  })
}
