import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'

export const root = fileURLToPath(new URL('../../../..', import.meta.url))
export const kubernetes = `${root}/infra/kubernetes`

export type Container = {
  args: string[]
  image: string
  ports?: { name: string; containerPort: number }[]
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
} & Record<string, unknown>
export type Manifest = {
  kind: string
  metadata: { name: string; labels?: Record<string, string> }
  data?: Record<string, string>
  spec: Record<string, unknown>
}
type PodTemplate = { template: { spec: { containers: Container[] } } }

type Kustomization = { resources: string[]; configMapGenerator: { name: string; envs: string[] }[] }

export const kustomizationOf = (folder: string): Kustomization =>
  parse(readFileSync(`${kubernetes}/${folder}/kustomization.yaml`, 'utf8')) as Kustomization

/** The documents in the files of the base, and the config maps that are generated from its settings. */
export function baseManifests(): Manifest[] {
  const { resources, configMapGenerator } = kustomizationOf('base')
  const read = (file: string) => readFileSync(`${kubernetes}/base/${file}`, 'utf8')
  const maps = configMapGenerator.map(({ name, envs }): Manifest => {
    const data = Object.assign({}, ...envs.map((file) => settingsIn(read(file)))) as Record<string, string>
    return { kind: 'ConfigMap', metadata: { name }, data, spec: {} }
  })
  return [...resources.flatMap((file) => documents(read(file))), ...maps]
}

/** Reads settings as kustomize does: what follows the first `=` is the value, quotes and all. */
const settingsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

const BUILDERS = [
  ['kubectl', ['kustomize']],
  ['kustomize', ['build']],
] as const

/** The documents that kustomize builds from a folder; null if neither it nor kubectl is on the PATH. */
export function built(folder: string): Manifest[] | null {
  for (const [command, args] of BUILDERS) {
    const { error, status, stdout, stderr } = spawnSync(command, [...args, `${kubernetes}/${folder}`], {
      encoding: 'utf8',
    })
    if (error) continue
    if (status !== 0) throw new Error(stderr)
    return documents(stdout)
  }
  return null
}

/** The only container in the pods of a Deployment or a Job. */
export function containerOf({ metadata, spec }: Manifest): Container {
  const [container, ...others] = (spec as PodTemplate).template.spec.containers
  if (!container || others.length > 0) throw new Error(`${metadata.name} has not exactly one container`)
  return container
}

const documents = (text: string) => parseAllDocuments(text).map((doc) => doc.toJS() as Manifest)
