// `node infra/release/digests.mjs images.json registry.example/signet 1.2.3`: copies the digests of the pushed images from the output
// of `docker buildx bake --metadata-file` into infra/kubernetes/base, so that a cluster runs exactly what was scanned and signed.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const KUSTOMIZATION = 'infra/kubernetes/base/kustomization.yaml'

/** Returns the kustomization with the images of a release. `metadata` contains the digest of each target of the bake file. */
export function withDigests(kustomization, metadata, { registry, version }) {
  const entries = Object.entries(metadata).filter(
    ([, { 'containerimage.digest': digest }]) => digest !== undefined,
  )
  if (entries.length === 0) throw new Error('The metadata names no image with a digest.')
  const images = entries
    .map(([app, { 'containerimage.digest': digest }]) =>
      [
        `  - name: signet-${app}`,
        `    newName: ${registry}/${app}`,
        `    # ${version}`,
        `    digest: ${digest}`,
      ].join('\n'),
    )
    .join('\n')
  const found = /^images:\n(?: .*\n)*/m
  if (!found.test(kustomization)) throw new Error(`${KUSTOMIZATION} has no list of images.`)
  return kustomization.replace(found, `images:\n${images}\n`)
}

if (process.argv[1] === import.meta.filename) {
  const [file, registry, version] = process.argv.slice(2)
  if (version === undefined) throw new Error('Give the metadata file, the registry and the version.')
  const path = join(process.cwd(), KUSTOMIZATION)
  const metadata = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(path, withDigests(readFileSync(path, 'utf8'), metadata, { registry, version }))
}
