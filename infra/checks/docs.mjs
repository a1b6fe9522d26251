// Generated documents: apps/<app>/src/docs.ts exports generatedDocs(), a record of file (relative to the app) to
// content. With --write they are written; without, every file that differs from the disk is named and the check fails.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../local/bootstrap.mjs'

/** Compares (or writes) the documents of every app below `appsFolder`; returns the paths that differed. */
export async function checkDocs(appsFolder, { write = false } = {}) {
  const stale = []
  for (const app of readdirSync(appsFolder).sort()) {
    const built = join(appsFolder, app, 'dist', 'docs.js')
    if (!existsSync(built)) continue
    const { generatedDocs } = await import(pathToFileURL(built).href)
    for (const [file, content] of Object.entries(await generatedDocs())) {
      const path = join(appsFolder, app, file)
      if (existsSync(path) && readFileSync(path, 'utf8') === content) continue
      stale.push(join('apps', app, file))
      if (write) save(path, content)
    }
  }
  return stale
}

function save(path, content) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

if (process.argv[1] && pathToFileURL(process.argv[1]).href === import.meta.url) {
  const write = process.argv.includes('--write')
  const stale = await checkDocs(join(root, 'apps'), { write })
  for (const file of stale) console.log(`${write ? 'wrote' : 'stale'}: ${file}`)
  if (stale.length > 0 && !write) process.exitCode = 1
}
