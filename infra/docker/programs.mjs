// programs.mjs <dependencies> <folder>: copies the compiled files that each package publishes from a folder made by dependencies.sh to
// another folder, so that a change of code leaves the layer with the dependencies unchanged.
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [dependencies, out] = process.argv.slice(2)

for (const folder of packages()) {
  const { files = [] } = JSON.parse(readFileSync(join(dependencies, folder, 'package.json'), 'utf8'))
  for (const path of files.filter((name) => !name.startsWith('!')))
    cpSync(join(folder, path), join(out, folder, path), {
      recursive: true,
      preserveTimestamps: true,
      filter: isRead,
    })
}

/** Returns false for types and for the compiler's notes for its next run, which nothing reads at run time. */
function isRead(path) {
  return !/\.(d\.ts|d\.ts\.map|tsbuildinfo)$/.test(path)
}

/** `apps/auth`, `packages/db` and so on. */
function packages() {
  const groups = readdirSync(dependencies).filter((name) => name !== 'node_modules')
  return groups
    .flatMap((group) => readdirSync(join(dependencies, group)).map((name) => join(group, name)))
    .filter((folder) => existsSync(join(dependencies, folder, 'package.json')))
}
