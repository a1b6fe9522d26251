import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const IMAGES = ['apps/auth', 'apps/webhooks', 'apps/dispatcher', 'infra/local']

/** The packages of the images, and those that they need at run time. */
async function packagesOfImages(): Promise<string[]> {
  const found = [...IMAGES]
  for (const folder of found) {
    const manifest = await readFile(join(root, folder, 'package.json'), 'utf8')
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> }
    for (const name of Object.keys(dependencies)) {
      const needed = name.replace(/^@signet\//, 'packages/')
      if (needed !== name && !found.includes(needed)) found.push(needed)
    }
  }
  return found
}

describe('programs.sh, which fills the images', () => {
  let folder: string
  let packages: string[]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signet-images-'))
    packages = await packagesOfImages()
    const [dependencies, out] = [join(folder, 'dependencies'), join(folder, 'out')]
    for (const path of packages) {
      await mkdir(join(dependencies, path), { recursive: true })
      await copyFile(join(root, path, 'package.json'), join(dependencies, path, 'package.json'))
    }
    await promisify(execFile)('sh', ['infra/docker/programs.sh', dependencies, out], { cwd: root })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('takes the compiled files of every package', async () => {
    expect(packages).toContain('packages/webhook-verify')
    for (const path of packages) {
      const files = await readdir(join(folder, 'out', path, 'dist'), { recursive: true })
      expect([path, files.some((file) => file.endsWith('.js'))]).toEqual([path, true])
    }
  })

  it('leaves out the declarations, which no process reads', async () => {
    const files = await readdir(join(folder, 'out'), { recursive: true })
    expect(files.filter((file) => /\.d\.ts(\.map)?$/.test(file))).toEqual([])
  })
})
