// Modules export only what they define. Entry files of packages and other barrels (files that re-export names of other files) name each
// export, and have few enough to be read.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import ts from 'typescript'
import { root } from '../local/bootstrap.mjs'
import { run } from './run.mjs'

const MAX_NAMES = 40
const PASSES_ON = /^export\s*(type\s*)?[{*]/m

const { values } = parseArgs({ options: { folder: { type: 'string', default: root } } })
const { folder } = values
const { output: listed } = await run('git', ['-C', folder, 'ls-files'])
const files = listed.split('\n').filter((path) => existsSync(join(folder, path)))
const entries = new Set(files.filter((path) => /(^|\/)package\.json$/.test(path)).flatMap(entriesOf))

const problems = files.filter((path) => /\.(ts|mts|mjs|js)$/.test(path)).flatMap(problemsOf)
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

/** Returns the source files that a package's `exports` lead to. */
function entriesOf(manifest) {
  const { exports = {} } = JSON.parse(readFileSync(join(folder, manifest), 'utf8'))
  return Object.values(exports)
    .map((target) => target['@signet/source'])
    .filter((source) => source !== undefined)
    .map((source) => join(manifest, '..', source).replaceAll('\\', '/'))
}

function problemsOf(path) {
  const text = readFileSync(join(folder, path), 'utf8')
  // Parsing every file of the repository takes seconds, and few files re-export anything.
  if (!entries.has(path) && !PASSES_ON.test(text)) return []
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  const exported = file.statements.flatMap((statement) => exportsOf(statement, importsOf(file)))
  const isBarrel = entries.has(path) || exported.some(({ from }) => from !== undefined)
  const foreign = new Set(exported.map(({ from }) => from).filter((from) => from && !from.startsWith('.')))
  const everything = exported.filter(({ name }) => name === undefined)
  return [
    ...[...foreign].map((from) => `${path}  re-exports ${from}`),
    ...everything.map(({ from }) => `${path}  exports everything of ${from}: name what it exports`),
    ...(isBarrel && exported.length > MAX_NAMES
      ? [`${path}  exports ${exported.length} names, more than ${MAX_NAMES}`]
      : []),
  ]
}

/** Where each imported name of a file comes from. */
function importsOf(file) {
  const imports = file.statements.filter((statement) => ts.isImportDeclaration(statement))
  return new Map(
    imports.flatMap(({ importClause, moduleSpecifier }) => {
      const { name, namedBindings } = importClause ?? {}
      const elements = namedBindings?.elements ?? (namedBindings ? [namedBindings] : [])
      return [name, ...elements.map((element) => element.name)]
        .filter((local) => local !== undefined)
        .map((local) => [local.text, moduleSpecifier.text])
    }),
  )
}

/** The names that a statement exports. If they come from another file, `from` names it. A star has no name. */
function exportsOf(statement, imports) {
  if (!ts.isExportDeclaration(statement)) {
    if (!isExported(statement)) return []
    return (statement.declarationList?.declarations ?? [statement]).map(() => ({ name: 'own' }))
  }
  const from = statement.moduleSpecifier?.text
  if (!statement.exportClause || ts.isNamespaceExport(statement.exportClause)) return [{ from }]
  return (
    statement.exportClause.elements
      .map(({ name, propertyName }) => ({
        name: name.text,
        from: from ?? imports.get((propertyName ?? name).text),
      }))
      // Tools require some default exports, such as the theme of the site.
      .filter(({ name }) => name !== 'default')
  )
}

function isExported(statement) {
  return (
    ts.isExportAssignment(statement) ||
    (ts.canHaveModifiers(statement) &&
      (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
  )
}
