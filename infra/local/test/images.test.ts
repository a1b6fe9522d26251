import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const IMAGES = ['apps/auth', 'apps/webhooks', 'apps/dispatcher', 'infra/local']
const NOT_COPIED = ['node_modules', 'dist', 'test', 'docs']

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

describe('the programs of the images', () => {
  let packages: string[]
  /** As in the builder: sources without anything that was compiled. */
  let tree: string
  let dependencies: string
  let out: string
  beforeAll(async () => {
    tree = await mkdtemp(join(tmpdir(), 'signet-images-'))
    ;[dependencies, out] = [join(tree, 'dependencies'), join(tree, 'out')]
    packages = await packagesOfImages()
    for (const path of packages) {
      const filter = (file: string) => !NOT_COPIED.includes(basename(file)) && !file.endsWith('.test.ts')
      await cp(join(root, path), join(tree, path), { recursive: true, filter })
      await mkdir(join(dependencies, path), { recursive: true })
      await copyFile(join(root, path, 'package.json'), join(dependencies, path, 'package.json'))
    }
    await cp(join(root, 'infra/docker'), join(tree, 'infra/docker'), { recursive: true })
    await copyFile(join(root, 'tsconfig.base.json'), join(tree, 'tsconfig.base.json'))
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'))
    await compile(...IMAGES)
    await runScript('programs', dependencies, out)
  })
  afterAll(() => rm(tree, { recursive: true, force: true }))

  const runScript = (name: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [`infra/docker/${name}.mjs`, ...args], { cwd: tree })

  const compile = (...folders: string[]) =>
    runScript('compile', ...folders.map((folder) => `${folder}/tsconfig.build.json`))

  /** What the compiler that looks at types wrote of files that are there. */
  async function checkedFiles(path: string): Promise<string[]> {
    const files = await filesIn(join(root, path, 'dist'))
    return files.filter((file) => existsSync(join(root, path, 'src', file.replace(/\.js(\.map)?$/, '.ts'))))
  }

  it('are those that were tested, to the byte', async () => {
    expect(packages).toContain('packages/webhook-verify')
    for (const path of packages) {
      const files = await filesIn(join(out, path, 'dist'))
      expect([path, files]).toEqual([path, await checkedFiles(path)])
      expect(files.length).toBeGreaterThan(1)
      for (const file of files) {
        const [image, tested] = await Promise.all(
          [out, root].map((folder) => readFile(join(folder, path, 'dist', file))),
        )
        if (!image?.equals(tested as Buffer)) throw new Error(`${path}/dist/${file} is another in the image`)
      }
    }
  })

  it('bring what else their packages publish, such as migrations', async () => {
    for (const app of ['apps/auth', 'apps/webhooks'])
      expect(await filesIn(join(out, app, 'migrations'))).toEqual(
        await filesIn(join(root, app, 'migrations')),
      )
  })

  it('are not built from a file that is no TypeScript', async () => {
    await writeFile(join(tree, 'packages/errors/src/half.ts'), 'export const half = (\n')
    await expect(compile('packages/errors')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('packages/errors/src/half.ts(1,22): error TS1109'),
    })
  })
})

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((file) => join(file.parentPath, file.name).slice(folder.length + 1)).sort()
}
