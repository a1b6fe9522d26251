import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
type Release = { problems: string[]; notes: string }
type Metadata = Record<string, object>

let releaseOf: (root: string, tag: string) => Release
let withDigests: (text: string, metadata: Metadata, names: { registry: string; version: string }) => string
beforeAll(async () => {
  ;({ releaseOf } = (await import(`${repository}/infra/release/notes.mjs`)) as {
    releaseOf: typeof releaseOf
  })
  ;({ withDigests } = (await import(`${repository}/infra/release/digests.mjs`)) as {
    withDigests: typeof withDigests
  })
})

const version = (JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string })
  .version

describe('the notes of a release', () => {
  const copy = mkdtempSync(join(tmpdir(), 'signet-release-'))
  afterAll(() => rmSync(copy, { recursive: true }))

  it('are the sections of the change logs, when everything is at the version of the tag', () => {
    const { problems, notes } = releaseOf(repository, `v${version}`)
    expect(problems).toEqual([])
    for (const folder of [
      'apps/auth',
      'apps/webhooks',
      'apps/dispatcher',
      'packages/cli',
      'packages/webhook-verify',
    ])
      expect(notes).toMatch(new RegExp(`## ${folder}\n\n(### .+\n\n)?- `))
  })

  it('name everything at once that is at another version', () => {
    const manifests = ['apps', 'packages'].flatMap((folder) =>
      readdirSync(join(repository, folder)).map((name) => join(folder, name)),
    )
    for (const folder of ['.', 'infra/local', ...manifests])
      for (const file of ['package.json', 'CHANGELOG.md'])
        if (existsSync(join(repository, folder, file)))
          cpSync(join(repository, folder, file), join(copy, folder, file))
    const behind = join(copy, 'packages/db/package.json')
    writeFileSync(behind, readFileSync(behind, 'utf8').replace(version, '0.0.9'))
    const silent = join(copy, 'apps/auth/CHANGELOG.md')
    writeFileSync(silent, readFileSync(silent, 'utf8').replace(`## ${version}`, '## 0.0.9'))
    expect(releaseOf(copy, `v${version}`).problems).toEqual([
      `packages/db/package.json says 0.0.9, not ${version}`,
      `apps/auth/CHANGELOG.md says nothing about ${version}`,
    ])
  })

  it.each(['1.2.3', 'v1.2', 'v1.2.3 && true', ''])('refuse %j as a tag', (tag) => {
    expect(releaseOf(repository, tag).problems).toHaveLength(1)
  })
})

describe('the signature of an image', () => {
  // A pattern for the name of the workflow alone accepts what any other repository has signed.
  it('is checked against this workflow, in a named repository, for one tag', () => {
    const page = readFileSync(join(repository, 'infra/release/README.md'), 'utf8')
    const [, identity = ''] = /cosign verify --certificate-identity "([^"]+)"/.exec(page) ?? []
    const [, workflow = '', tag] = /^\$REPOSITORY\/(\S+)@refs\/tags\/(\S+)$/.exec(identity) ?? []
    expect([existsSync(join(repository, workflow)), tag]).toEqual([true, 'v0.2.0'])
    expect(page).toMatch(/^REPOSITORY=https:\/\/github\.com\/\S+\/\S+$/m)
  })
})

describe('the digests of a release', () => {
  const text = readFileSync(join(repository, 'infra/kubernetes/base/kustomization.yaml'), 'utf8')
  const names = { registry: 'registry.example/signet', version: '9.9.9' }
  const digest = `sha256:${'a'.repeat(64)}`
  const metadata = Object.fromEntries(
    ['auth', 'webhooks', 'dispatcher'].map((app) => [app, { 'containerimage.digest': digest }]),
  )

  it('replace the tags of the manifests, and nothing else', () => {
    const images = ['auth', 'webhooks', 'dispatcher'].map((app) =>
      [
        `  - name: signet-${app}`,
        `    newName: registry.example/signet/${app}`,
        '    # 9.9.9',
        `    digest: ${digest}`,
        '',
      ].join('\n'),
    )
    const rest = text.slice(0, text.indexOf('images:\n'))
    const written = withDigests(text, { ...metadata, 'buildx.build.warnings': {} }, names)
    expect(written).toBe(`${rest}images:\n${images.join('')}`)
    // The next release replaces the digests of this one.
    expect(withDigests(written, metadata, { ...names, version: '9.9.10' })).toBe(
      written.replaceAll('# 9.9.9', '# 9.9.10'),
    )
  })

  it('are not written without any, or into a file without a list of images', () => {
    expect(() => withDigests(text, { auth: {} }, names)).toThrow('no image with a digest')
    expect(() => withDigests('resources: []\n', metadata, names)).toThrow('no list of images')
  })
})
