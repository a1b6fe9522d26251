// Entry files of packages: what they export is their own, named one by one, and few enough to be read.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { root } from '../local/bootstrap.mjs'

const MAX_NAMES = 40

const problems = packages().flatMap(entriesOf).flatMap(problemsOf)
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function packages() {
  return readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))
}

/** The source files that a package's `exports` lead to. */
function entriesOf(folder) {
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) return []
  const { exports = {} } = JSON.parse(readFileSync(manifest, 'utf8'))
  return Object.values(exports)
    .map((target) => target['@signet/source'])
    .filter((source) => source !== undefined)
    .map((source) => join(folder, source))
}

function problemsOf(path) {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  const where = relative(root, path).replaceAll('\\', '/')
  const found = []
  let names = 0
  for (const statement of file.statements) {
    if (ts.isExportDeclaration(statement)) {
      const from = statement.moduleSpecifier?.text
      if (from !== undefined && !from.startsWith('.')) found.push(`${where}  re-exports ${from}`)
      if (statement.exportClause && ts.isNamedExports(statement.exportClause))
        names += statement.exportClause.elements.length
      else found.push(`${where}  exports everything of ${from}: name what it exports`)
    } else if (isExported(statement)) {
      names += statement.declarationList?.declarations.length ?? 1
    }
  }
  if (names > MAX_NAMES) found.push(`${where}  exports ${names} names, more than ${MAX_NAMES}`)
  return found
}

function isExported(statement) {
  return (
    ts.isExportAssignment(statement) ||
    (ts.canHaveModifiers(statement) &&
      (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
  )
}
