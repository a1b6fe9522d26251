import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

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

/** The documents of the base as they stand in its files. */
export const baseManifests = (): Manifest[] =>
  readdirSync(`${kubernetes}/base`)
    .filter((file) => file !== 'kustomization.yaml')
    .flatMap((file) => documents(readFileSync(`${kubernetes}/base/${file}`, 'utf8')))

const BUILDERS = [
  ['kubectl', ['kustomize']],
  ['kustomize', ['build']],
] as const

/** The documents that kustomize makes of a folder; null where neither it nor kubectl is on the PATH. */
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

/** The one container of a Deployment's or a Job's pods. */
export function containerOf({ metadata, spec }: Manifest): Container {
  const [container, ...others] = (spec as PodTemplate).template.spec.containers
  if (!container || others.length > 0) throw new Error(`${metadata.name} has not exactly one container`)
  return container
}

const documents = (text: string) => parseAllDocuments(text).map((doc) => doc.toJS() as Manifest)
