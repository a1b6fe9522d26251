// programs.mjs <dependencies> <folder>: the compiled files that each package of a folder made by dependencies.sh publishes, into another
// folder, so that a change of code leaves the layer with the dependencies as it is.
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

/** Types, and what the compiler notes for its next run, are not read at run time. */
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
