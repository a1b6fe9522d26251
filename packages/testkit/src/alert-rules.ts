import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { findPromtool } from './promtool.js'

export type AlertRule = { alert: string; expr: string; annotations: { runbook: string } }
type RuleTests = { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]

const folder = fileURLToPath(new URL('../../../infra/monitoring/prometheus', import.meta.url))
const read = (file: string): unknown => parse(readFileSync(`${folder}/${file}`, 'utf8'))

/** The alert rules of a service in infra/monitoring. */
export class AlertRules {
  readonly alerts: readonly AlertRule[]
  readonly #tests: RuleTests

  constructor(private readonly service: string) {
    const { groups } = read(`${service}.rules.yaml`) as { groups: { rules: AlertRule[] }[] }
    this.alerts = groups.flatMap(({ rules }) => rules)
    this.#tests = (read(`${service}.rules.test.yaml`) as { tests: RuleTests }).tests
  }

  /** For each test of the alert, whether the test expects it to be raised. */
  outcomes(alert: string): boolean[] {
    return this.#tests
      .flatMap(({ alert_rule_test }) => alert_rule_test)
      .filter(({ alertname }) => alertname === alert)
      .map(({ exp_alerts }) => exp_alerts.length > 0)
  }

  /** What promtool prints about the rules and their tests; undefined where promtool is unavailable. */
  async promtool(): Promise<{ check: string; test: string } | undefined> {
    const promtool = await findPromtool()
    if (!promtool) return undefined
    const run = async (command: string, file: string) =>
      (await promisify(execFile)(promtool, [command, 'rules', file], { cwd: folder })).stdout
    return {
      check: await run('check', `${this.service}.rules.yaml`),
      test: await run('test', `${this.service}.rules.test.yaml`),
    }
  }
}

/** Prometheus itself adds these metrics. */
const OF_PROMETHEUS = ['up']
const OPERATORS = ['and', 'or', 'unless']

/** Names of the metrics in a query. */
export function metricsIn(expr: string): string[] {
  const bare = expr
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replace(/\b(by|on|ignoring|without)\s*\([^)]*\)/g, ' ')
  return [...bare.matchAll(/\b([a-z][a-z_]+)\b(?!\s*\()/g)]
    .map(([, name = '']) => name)
    .filter((name) => ![...OPERATORS, ...OF_PROMETHEUS].includes(name))
}

/**
 * Counters that a query selects by label, or whose increase it reads, and that the page lacks. A service must export them at 0 from the
 * start: Prometheus sees no increase in a series that begins at 1, and cannot compare with one that is absent. Series of HTTP requests
 * are exempt, because their routes and codes are not known in advance.
 */
export function countsMissing(expr: string, page: string): string[] {
  const increasing = [...expr.matchAll(/\b(?:increase|rate)\((?!http_)([a-z_]+)\[/g)].map(
    ([, name = '']) => name,
  )
  const withoutSeries = increasing.filter((name) => !new RegExp(`^${name}[{ ]`, 'm').test(page))
  return [...withoutSeries, ...countsOfLabelsMissing(expr, page)]
}

function countsOfLabelsMissing(expr: string, page: string): string[] {
  return [...expr.matchAll(/\b(?!http_|up\b)([a-z_]+)\{([^}]*)\}/g)].flatMap(([, name = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)=~?"([\w|]+)"/g)].flatMap(([, label = '', values = '']) =>
      values
        .split('|')
        .filter((value) => !new RegExp(`^${name}\\{[^}]*\\b${label}="${value}"[^}]*\\} `, 'm').test(page))
        .map((value) => `${name}{${label}="${value}"}`),
    ),
  )
}

/** Names of the series on a page that Prometheus scrapes. */
export function exportedOn(page: string): Set<string> {
  const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
}

/** Names of the metrics that a dashboard of infra/monitoring draws. */
export function metricsDrawn(service: string): string[] {
  const text = readFileSync(`${folder}/../grafana/${service}.json`, 'utf8')
  const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] }
  return panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)))
}
