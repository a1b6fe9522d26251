import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const IMAGES = ['apps/auth', 'apps/webhooks', 'apps/dispatcher', 'infra/local']

/** The packages that the images contain: the apps, and those that they need at run time. */
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

describe('the programs of the images', () => {
  let packages: string[]
  let folder: string
  let out: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signet-images-'))
    const dependencies = join(folder, 'dependencies')
    out = join(folder, 'out')
    packages = await packagesOfImages()
    for (const path of packages) {
      await mkdir(join(dependencies, path), { recursive: true })
      await copyFile(join(root, path, 'package.json'), join(dependencies, path, 'package.json'))
    }
    await promisify(execFile)(process.execPath, ['infra/docker/programs.mjs', dependencies, out], {
      cwd: root,
    })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('are what was compiled of every source, and no test', async () => {
    expect(packages).toContain('packages/webhook-verify')
    for (const path of packages) {
      const sources = (await filesIn(join(root, path, 'src'))).filter((file) =>
        /(?<!\.(test|d))\.ts$/.test(file),
      )
      const files = await filesIn(join(out, path, 'dist'))
      const missing = sources.map((file) => file.replace(/ts$/, 'js')).filter((file) => !files.includes(file))
      expect([path, missing]).toEqual([path, []])
      expect(files.filter((file) => /\.test|\.d\.ts|\.tsbuildinfo/.test(file))).toEqual([])
    }
  })

  it('bring what else their packages publish, such as migrations', async () => {
    for (const app of ['apps/auth', 'apps/webhooks'])
      expect(await filesIn(join(out, app, 'migrations'))).toEqual(
        await filesIn(join(root, app, 'migrations')),
      )
  })
})

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((file) => join(file.parentPath, file.name).slice(folder.length + 1)).sort()
}
