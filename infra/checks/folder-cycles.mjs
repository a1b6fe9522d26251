// Folders of a package must depend on each other in one direction only. On each level of its `src`, a folder with everything in it is
// one node, and so is each file next to it: if `a/x` imports `b/y` and `b/z` imports `a/w`, that is a cycle, although no file is in
// one.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../local/bootstrap.mjs'

const { values } = parseArgs({ options: { folder: { type: 'string', default: root } } })
const { folder } = values

/** Matches static imports, re-exports, imports on demand and types written as `import('./x.js')`, if their path is relative. */
const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]*)['"]/g

const problems = sourceFolders().flatMap(problemsOf)
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function sourceFolders() {
  return ['apps', 'packages', 'infra']
    .map((kind) => join(folder, kind))
    .filter(existsSync)
    .flatMap((kind) => readdirSync(kind).map((name) => join(kind, name, 'src')))
    .filter(existsSync)
}

function problemsOf(source) {
  const imports = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ts$/.test(entry.name) && !/\.test\.ts$/.test(entry.name))
    .flatMap((entry) => importsOf(join(entry.parentPath, entry.name)))
  return [...levelsOf(imports, source)].flatMap(([level, graph]) =>
    components(graph)
      .filter(({ length }) => length > 1)
      .map((nodes) => `${shown(level)}  a cycle of ${nodes.sort().join(', ')}`),
  )
}

function importsOf(path) {
  const found = readFileSync(path, 'utf8').matchAll(IMPORT)
  return [...found].map(([, to]) => ({ from: path, to: resolve(dirname(path), to.replace(/\.js$/, '.ts')) }))
}

/** For each folder, which of its direct members import which others. An import counts in the folder where the two paths diverge. */
function levelsOf(imports, source) {
  const levels = new Map()
  for (const { from, to } of imports) {
    const [a, b] = [from, to].map((path) => relative(source, path).split(/[\\/]/))
    if (b[0] === '..') continue
    let depth = 0
    while (a[depth] === b[depth] && depth < a.length) depth += 1
    if (depth === a.length) continue
    const level = join(source, ...a.slice(0, depth))
    const graph = levels.get(level) ?? new Map()
    levels.set(level, graph)
    for (const node of [a[depth], b[depth]]) if (!graph.has(node)) graph.set(node, new Set())
    graph.get(a[depth]).add(b[depth])
  }
  return levels
}

/** Groups of nodes that reach each other. The graphs are small. */
function components(graph) {
  const reached = new Map([...graph.keys()].map((node) => [node, reachedFrom(graph, node)]))
  const left = new Set(graph.keys())
  return [...graph.keys()].flatMap((node) => {
    if (!left.has(node)) return []
    const together = [...left].filter(
      (other) => other === node || (reached.get(node).has(other) && reached.get(other).has(node)),
    )
    for (const other of together) left.delete(other)
    return [together]
  })
}

function reachedFrom(graph, start) {
  const reached = new Set()
  const waiting = [...graph.get(start)]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (reached.has(node)) continue
    reached.add(node)
    waiting.push(...graph.get(node))
  }
  return reached
}

function shown(path) {
  return relative(folder, path).replaceAll('\\', '/')
}
