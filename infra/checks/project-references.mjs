// If a project refers to a package, the compiler and the linter read the package's sources. If it only imports the package, they read
// output that another build may be writing at that moment, which fails in one run of many.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { root, workspaceFolders } from '../local/bootstrap.mjs'

const folders = workspaceFolders().map((folder) => join(root, folder))
const folderByName = new Map(folders.map((folder) => [readJson(join(folder, 'package.json')).name, folder]))

const problems = folders.flatMap(configsOf).flatMap(problemsOf)
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function configsOf(folder) {
  return readdirSync(folder)
    .filter((name) => /^tsconfig.*\.json$/.test(name))
    .map((name) => join(folder, name))
}

function parse(config) {
  return ts.getParsedCommandLineOfConfigFile(
    config,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: throwIt },
  )
}

function throwIt({ messageText }) {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'))
}

function problemsOf(config) {
  const { fileNames, projectReferences } = parse(config)
  const referred = foldersReferred(projectReferences)
  const imported = new Map()
  for (const file of fileNames) for (const folder of foldersImported(file)) imported.set(folder, file)
  return [...imported]
    .filter(([folder]) => folder !== dirname(config) && !referred.has(folder))
    .map(
      ([folder, file]) => `${name(config)}  has no reference to ${name(folder)}, which ${name(file)} imports`,
    )
}

/** Includes references of references. */
function foldersReferred(references = [], found = new Set(), seen = new Set()) {
  for (const { path } of references) {
    const config = statSync(path).isDirectory() ? join(path, 'tsconfig.json') : path
    if (seen.has(config)) continue
    seen.add(config)
    found.add(dirname(config))
    foldersReferred(parse(config).projectReferences, found, seen)
  }
  return found
}

function foldersImported(file) {
  return ts
    .preProcessFile(readFileSync(file, 'utf8'))
    .importedFiles.map(({ fileName }) => folderOf(fileName, file))
    .filter((folder) => folder !== undefined)
}

function folderOf(specifier, file) {
  if (!specifier.startsWith('.')) return folderByName.get(specifier.split('/', 2).join('/'))
  const path = resolve(dirname(file), specifier)
  return folders.find((folder) => path.startsWith(`${folder}/`))
}

function name(path) {
  return relative(root, path)
}
