// The alert rules of infra/monitoring in the format of the Prometheus operator. They are written like generated documents, because
// kustomize cannot put a file into a field.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const APPS = ['auth', 'dispatcher', 'webhooks']

/** Content by path below the root of the repository. */
export function ruleManifests(root) {
  const manifests = APPS.map((app) => {
    const rules = readFileSync(join(root, `infra/monitoring/prometheus/${app}.rules.yaml`), 'utf8')
    const groups = rules.slice(rules.indexOf('groups:')).trimEnd()
    const head = [
      'apiVersion: monitoring.coreos.com/v1',
      'kind: PrometheusRule',
      `metadata: { name: signet-${app} }`,
      'spec:',
    ]
    return [...head, ...groups.split('\n').map((line) => `  ${line}`.trimEnd())].join('\n')
  })
  const note = '# Made of infra/monitoring/prometheus by `npm run docs`.'
  return { 'infra/kubernetes/components/monitoring/rules.yaml': `${note}\n${manifests.join('\n---\n')}\n` }
}
