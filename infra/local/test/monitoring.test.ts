import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { repository } from './support/running-stack.js'

const read = (path: string) => readFileSync(join(repository, 'infra/monitoring', path), 'utf8')

type Dashboard = { panels: { title: string; targets: { expr: string }[] }[] }

function queriesOf(service: string): string[] {
  const { panels } = JSON.parse(read(`grafana/${service}.json`)) as Dashboard
  const drawn = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => `${title}: ${expr}`))
  return [...drawn, ...read(`prometheus/${service}.rules.yaml`).split('\n')]
}

// Every Node.js program exports these, so that without a job a panel also shows the other services.
const COMMON = /\b(?:nodejs|process|http_request)_\w+(\{[^}]*\})?/g

it.each(['auth', 'webhooks', 'dispatcher'])(
  'the dashboard and the alerts of %s look at its own process',
  (service) => {
    const own = `job="signet-${service}"`
    const others = queriesOf(service).filter((query) =>
      [...query.matchAll(COMMON)].some(([, labels = '']) => !labels.includes(own)),
    )
    expect(others).toEqual([])
  },
)

// With an interval of a minute, which is Prometheus's own, a range of a minute holds one sample, and shows no increase.
it('Prometheus scrapes four times in the shortest range of an alert', () => {
  const rules = ['auth', 'webhooks', 'dispatcher']
    .map((service) => read(`prometheus/${service}.rules.yaml`))
    .join()
  const ranges = [...rules.matchAll(/\[(\d+)m\]/g)].map(([, minutes]) => 60 * Number(minutes))
  const monitors = readFileSync(
    join(repository, 'infra/kubernetes/components/monitoring/monitors.yaml'),
    'utf8',
  )
  const intervals = [...monitors.matchAll(/^ +interval: (\d+)s$/gm)].map(([, seconds]) => Number(seconds))
  expect(intervals).toHaveLength(monitors.match(/^kind: PodMonitor$/gm)?.length ?? 0)
  const [, documented] = /Scrape every (\d+) seconds/.exec(read('README.md')) ?? []
  expect(4 * Math.max(Number(documented), ...intervals)).toBeLessThanOrEqual(Math.min(...ranges))
})
