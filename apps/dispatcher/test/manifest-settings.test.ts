import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { readConfig } from '../src/config/read-config.js'
import { baseManifests, built, containerOf, kubernetes, root, type Manifest } from './support/manifests.js'

/** Variables that Node reads, and not our programs. */
const OF_NODE = ['NODE_EXTRA_CA_CERTS']

type Setting = { names: string[]; isRequired: boolean; fallback: string; isSecret: boolean }

/** The settings table of an app, read from the page that is generated from it. */
function settingsOf(app: string): Setting[] {
  const page = readFileSync(`${root}/apps/${app}/docs/configuration.md`, 'utf8')
  return [...page.matchAll(/^\| (`[^|]+`) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, names = '', fallback = '', doc = '']) => ({
      names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
      isRequired: fallback.includes('**required**'),
      fallback: fallback.replaceAll('`', '').trim(),
      isSecret: doc.trim().endsWith('Secret.'),
    }),
  )
}

function problemsOf(app: string, given: readonly string[]): string[] {
  const settings = settingsOf(app)
  const known = settings.flatMap(({ names }) => names)
  return [
    ...given.filter((name) => !known.includes(name) && !OF_NODE.includes(name)).map((name) => `${name}?`),
    ...settings
      .filter(({ names, isRequired }) => isRequired && !names.some((name) => given.includes(name)))
      .map(({ names }) => `${names.join(' or ')} is missing`),
  ]
}

/** The keys of each secret, from the table that operators follow to fill them. */
function documentedSecrets(): Map<string, string[]> {
  const [, page = ''] = readFileSync(`${kubernetes}/README.md`, 'utf8').split('## Secrets\n')
  const rows = [...page.matchAll(/^\| `([a-z]+-secrets)` +\| (.+?) *\|$/gm)]
  return new Map(rows.map(([, name = '', keys = '']) => [name, keys.replaceAll('`', '').split(', ')]))
}

const secrets = documentedSecrets()
const manifests = baseManifests()
const configMaps = new Map(
  manifests
    .filter(({ kind }) => kind === 'ConfigMap')
    .map(({ metadata, data }) => [metadata.name, data ?? {}]),
)
const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
const appOf = ({ metadata }: Manifest) => metadata.name.replace('-migrate', '')
const settingOf = (app: string, name: string) => settingsOf(app).find(({ names }) => names.includes(name))

describe('the settings in the Kubernetes manifests', () => {
  it('are read from maps and secrets that are there or documented', () => {
    const sources = workloads.flatMap((workload) => containerOf(workload).envFrom)
    expect(sources.length).toBeGreaterThan(workloads.length)
    for (const { configMapRef, secretRef } of sources)
      expect(configMaps.has(configMapRef?.name ?? '') || secrets.has(secretRef?.name ?? '')).toBe(true)
  })

  it.each(workloads.map((workload) => [workload.metadata.name, workload] as const))(
    '%s has every setting that is required, none that does not exist, and no secret outside the secrets',
    (_name, workload) => {
      const app = appOf(workload)
      const given = containerOf(workload).envFrom.flatMap(({ configMapRef, secretRef }) => [
        ...Object.keys(configMaps.get(configMapRef?.name ?? '') ?? {}),
        ...(secrets.get(secretRef?.name ?? '') ?? []),
      ])
      expect(problemsOf(app, given)).toEqual([])
      const plain = containerOf(workload).envFrom.flatMap(({ configMapRef }) =>
        Object.keys(configMaps.get(configMapRef?.name ?? '') ?? {}),
      )
      expect(plain.filter((name) => settingOf(app, name)?.isSecret)).toEqual([])
    },
  )

  it.each([
    ['auth', { health: 'AUTH_API_PORT' }],
    ['webhooks', { health: 'WEBHOOKS_PORT', internal: 'WEBHOOKS_INTERNAL_PORT' }],
    ['dispatcher', { health: 'DISPATCHER_PORT' }],
  ])('give %s the ports that it listens on', (app, names) => {
    const deployment = workloads.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === app)
    const ports = (deployment ? containerOf(deployment).ports : undefined) ?? []
    expect(ports.map(({ name, containerPort }) => [name, String(containerPort)])).toEqual(
      Object.entries(names).map(([name, setting]) => [name, settingOf(app, setting)?.fallback]),
    )
  })

  it('start a dispatcher in production', () => {
    const key = () => randomBytes(32).toString('base64')
    const config = readConfig({
      ...configMaps.get('delivery-config'),
      WEBHOOKS_DATABASE_URL: 'postgres://signet@postgres.example.com/webhooks',
      WEBHOOKS_REDIS_URL: 'redis://mymaster',
      WEBHOOKS_SECRET_KEYS: `k1:${key()}`,
      DISPATCHER_ADMIN_TOKEN: key(),
    })
    expect(config.nodeEnv).toBe('production')
    expect(config.allowPrivateTargets).toBe(false)
    expect(config.redisSentinels).toHaveLength(3)
  })

  it('tell the API both addresses of the identity server, because webhooks may point to neither', () => {
    const { AUTH_API_EXTERNAL_URL } = configMaps.get('auth-config') ?? {}
    expect(configMaps.get('webhooks-config')).toMatchObject({
      WEBHOOKS_IDENTITY_URL: 'http://auth:8081',
      WEBHOOKS_IDENTITY_PUBLIC_URL: AUTH_API_EXTERNAL_URL,
    })
  })
})

describe('the kustomizations', () => {
  // Without kubectl and kustomize, nothing can be built; the tests that read the files run all the same.
  const build = (folder: string) => built(folder) ?? []
  const test = built('base') === null ? it.skip : it
  const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name.replace(/-[0-9a-z]{10}$/, '')}`
  const isNamespaced = ({ kind, metadata }: Manifest) => kind === 'Namespace' || 'namespace' in metadata

  test('build the base, every document once and in its namespace', () => {
    const made = build('base')
    expect(made.map(nameOf).sort()).toEqual(manifests.map(nameOf).sort())
    expect(made.filter((manifest) => !isNamespaced(manifest))).toEqual([])
    const images = made.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(containerOf)
    for (const { image } of images) expect(image).toMatch(/\/(auth|webhooks|dispatcher)(:\d|@sha256:)/)
  })

  test('build the example with all components: one scaler each, and settings of its own', () => {
    const made = build('overlays/example')
    expect(made.filter((manifest) => !isNamespaced(manifest))).toEqual([])
    const kinds = (kind: string) => made.filter((manifest) => manifest.kind === kind)
    expect(kinds('HorizontalPodAutoscaler').map(({ metadata }) => metadata.name)).toEqual([
      'auth',
      'webhooks',
    ])
    expect(kinds('ScaledObject').map(({ metadata }) => metadata.name)).toEqual(['dispatcher'])
    expect(kinds('ExternalSecret').map(({ metadata }) => metadata.name)).toEqual([...secrets.keys()].sort())
    expect(kinds('PrometheusRule')).toHaveLength(3)
    const auth = kinds('ConfigMap').find(({ metadata }) => metadata.name.startsWith('auth-config-'))
    expect(auth?.data).toMatchObject({
      NODE_ENV: 'production',
      AUTH_SITE_URL: 'https://app.example.org',
      AUTH_METRICS_ENABLED: 'true',
    })
    expect(
      problemsOf('auth', [...Object.keys(auth?.data ?? {}), ...(secrets.get('auth-secrets') ?? [])]),
    ).toEqual([])
  })

  test('give a changed setting a new name, which the pods ask for', () => {
    const nameIn = (folder: string) =>
      build(folder).find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('webhooks-config-'),
      )?.metadata.name
    expect(nameIn('base')).not.toBe(nameIn('overlays/example'))
    const deployment = build('base').find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'webhooks',
    )
    const sources =
      deployment && containerOf(deployment).envFrom.map(({ configMapRef }) => configMapRef?.name)
    expect(sources).toContain(nameIn('base'))
  })
})

describe('the settings in docker-compose.yml', () => {
  type Service = { environment?: Record<string, string> }
  const compose = parse(readFileSync(`${root}/docker-compose.yml`, 'utf8'), { merge: true }) as {
    services: Record<string, Service>
  }
  const ours = ['auth', 'auth-migrate', 'webhooks', 'webhooks-migrate', 'dispatcher']

  it.each(ours)('%s has every setting that is required and none that does not exist', (name) => {
    const given = Object.keys(compose.services[name]?.environment ?? {})
    expect(problemsOf(name.replace('-migrate', ''), given)).toEqual([])
  })

  it('start a dispatcher, though never in production', () => {
    const environment = compose.services['dispatcher']?.environment ?? {}
    expect(readConfig(environment).nodeEnv).toBe('development')
    expect(() => readConfig({ ...environment, NODE_ENV: 'production' })).toThrow(
      /WEBHOOKS_ALLOW_PRIVATE_TARGETS/,
    )
  })
})
