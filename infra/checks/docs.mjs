// Generated documents: src/docs.ts of an app or package exports generatedDocs(), a record of file (relative to its folder) to content.
// The manifests of alert rules are generated too. With --write, writes them. Without it, names every file that differs from the disk
// and fails.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { optionsOrExit } from '../local/arguments.mjs'
import { bootstrapOrExit, root, workspaceFolders } from '../local/bootstrap.mjs'
import { ruleManifests } from './rule-manifests.mjs'

const values = optionsOrExit('npm run docs    brings the generated documents up to date', {
  write: { type: 'boolean', default: false },
  apps: { type: 'string', default: join(root, 'apps') },
})
// The check runs after the types, which compile everything. With --write, a definition may have just changed, so compile first.
if (values.write && values.apps === join(root, 'apps')) {
  const documented = workspaceFolders().filter((folder) => existsSync(join(root, folder, 'src/docs.ts')))
  await bootstrapOrExit({ projects: documented.map((folder) => `${folder}/tsconfig.build.json`) })
}
const folder = dirname(values.apps)
const stale = [
  ...(await staleDocs(values.apps)),
  ...(await staleDocs(join(folder, 'packages'))),
  ...staleManifests(folder),
]
for (const { path, file, content } of stale) {
  if (values.write) save(file, content)
  console.log(`${values.write ? 'wrote' : 'stale'}: ${path}`)
}
if (stale.length > 0 && !values.write) process.exitCode = 1

/** Returns the documents of everything built in a folder that differ from those on disk. Paths are relative to the folder. */
async function staleDocs(folder) {
  const found = []
  if (!existsSync(folder)) return found
  for (const app of readdirSync(folder).sort()) {
    const built = join(folder, app, 'dist', 'docs.js')
    if (!existsSync(built)) continue
    const { generatedDocs } = await import(pathToFileURL(built).href)
    for (const [file, content] of Object.entries(await generatedDocs())) {
      const path = join(app, file)
      found.push({ path, file: join(folder, path), content })
    }
  }
  return found.filter(isStale)
}

function staleManifests(folder) {
  if (!existsSync(join(folder, 'infra/monitoring'))) return []
  return Object.entries(ruleManifests(folder))
    .map(([path, content]) => ({ path, file: join(folder, path), content }))
    .filter(isStale)
}

function isStale({ file, content }) {
  return !existsSync(file) || readFileSync(file, 'utf8') !== content
}

function save(file, content) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}
