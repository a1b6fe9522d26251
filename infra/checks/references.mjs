// Checks references that a reader can follow: anchors of documents, decision records, test files and relative links in Markdown must
// exist. Every record must be cited where a reader would ask, the maps in the READMEs of apps and in the overview must name each
// folder, and nothing may cite a document that is not in the repository.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../local/bootstrap.mjs'
import { run } from './run.mjs'

const { values } = parseArgs({ options: { folder: { type: 'string', default: root } } })
const { folder } = values

const TEXT =
  /\.(ts|mts|mjs|cjs|js|sql|md|json|jsonc|ya?ml|env|example|conf|toml|hcl|pml|py|go|sh|rs|rb|php)$|(^|\/)Dockerfile$/
/** Matches paths from the root of the repository, or from the folder of the app. */
const DOCUMENT = /(?<![\w./-])((?:apps|packages|infra|docs)\/(?:[\w-]+\/)*[\w-]+\.md)(?:#([\w-]+))?/g
/** Matches a test file with as much of its path as is given. */
const TEST_FILE = /(?:[\w-]+\/)*[\w-]{2,}\.test\.ts\b/g
/** Strings in these are names of files that need not exist, so only comments are read for test files. */
const CODE = /\.(ts|mts|mjs|cjs|js)$/
const COMMENT = /\/\/ .*|^\s*\/?\*.*/
/** Matches the numbers after the word, or in a path. */
const RECORD = /(?<=\bdecisions? (?:\d{4}(?:, | and ))*)\d{4}\b|(?<=\bdecisions\/)\d{4}\b/g
const LINK = /\]\(([^)\s#]*)(?:#([\w-]+))?\)/g
const CITATION =
  /\bcontracts?\b|\b[A-H]\.\d{1,2},? rows? \d|(?<=[('] ?)[A-H]\.\d{1,2}\b|\/\/ [A-H]\.\d{1,2}\b/i

/** Files in which the word is not a citation: licenses, sample recordings, changelogs and this file. */
const NO_CITATIONS =
  /(^|\/)LICENSE$|^infra\/local\/recordings\/|^infra\/checks\/references\.mjs$|(^|\/)CHANGELOG\.md$/

/** Tests of checks, which contain names that do not exist. */
const EXAMPLES = /^infra\/local\/test\/(paths|[\w-]+-check)\.test\.ts$/

const anchors = new Map()
const files = (await trackedFiles()).filter((path) => TEXT.test(path) && existsSync(join(folder, path)))
const testFiles = files.filter((path) => path.endsWith('.test.ts'))
const cited = new Set()
const records = readdirSync(join(folder, 'infra/decisions')).filter((name) => /^\d{4}-.*\.md$/.test(name))
const problems = [...files.flatMap(problemsOf), ...uncitedProblems(), ...indexProblems(), ...mapProblems()]
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

async function trackedFiles() {
  const options = ['--cached', '--others', '--exclude-standard']
  const { output } = await run('git', ['-C', folder, 'ls-files', ...options])
  return output.split('\n').filter(Boolean)
}

function problemsOf(path) {
  if (EXAMPLES.test(path)) return []
  const found = []
  readFileSync(join(folder, path), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      const report = (problem) => found.push(`${path}:${index + 1}  ${problem}`)
      checkDocuments(path, line, report)
      checkTestFiles(path, line, report)
      checkRecords(path, line, report)
      if (path.endsWith('.md')) checkLinks(path, line, report)
      if (!NO_CITATIONS.test(path) && CITATION.test(line))
        report(
          'cites a document that is not here: refer to an anchor of a specification, an RFC section or a record',
        )
    })
  return found
}

function checkDocuments(path, line, report) {
  const [app = ''] = /^(apps|packages)\/[^/]+\//.exec(path) ?? []
  for (const [reference, document, anchor] of line.matchAll(DOCUMENT)) {
    const to = document.startsWith('docs/') ? app + document : document
    if (!existsSync(join(folder, to)) || (anchor && !anchorsOf(to).has(anchor)))
      report(`${reference} leads nowhere`)
  }
}

function checkTestFiles(path, line, report) {
  if (NO_CITATIONS.test(path)) return
  const text = CODE.test(path) ? (COMMENT.exec(line)?.[0] ?? '') : line
  for (const [name] of text.matchAll(TEST_FILE))
    if (!testFiles.some((file) => `/${file}`.endsWith(`/${name}`))) report(`there is no ${name}`)
}

function checkRecords(path, line, report) {
  for (const [number] of line.matchAll(RECORD)) {
    if (!path.startsWith('infra/decisions/')) cited.add(number)
    if (!records.some((name) => name.startsWith(`${number}-`)))
      report(`decision ${number} leads to no record`)
  }
}

/** Finds records that only other records cite: nobody who reads the code would find them. */
function uncitedProblems() {
  return records
    .filter((name) => !cited.has(name.slice(0, 4)))
    .map((name) => `infra/decisions/${name}  is cited nowhere: name it in a comment where a reader would ask`)
}

function checkLinks(path, line, report) {
  for (const [, target, anchor] of line.replaceAll(/`[^`]*`/g, '').matchAll(LINK)) {
    if (/^[a-z]+:/.test(target)) continue
    const to = target === '' ? path : normalize(join(dirname(path), decodeURIComponent(target)))
    if (!existsSync(join(folder, to))) report(`the link to ${target} leads nowhere`)
    else if (!path.startsWith('.') && !isPageOrFile(to))
      report(`the link to ${target} leads to a folder without a README`)
    else if (anchor && to.endsWith('.md') && !anchorsOf(to).has(anchor))
      report(`${to} has no section #${anchor}`)
  }
}

/** The build of the site fails at other links, except in folders that begin with a dot: those are for the code host alone. */
function isPageOrFile(path) {
  return !statSync(join(folder, path)).isDirectory() || existsSync(join(folder, path, 'README.md'))
}

/** The index must list every record under its own title, and nothing else. */
function indexProblems() {
  const path = 'infra/decisions/README.md'
  const index = readFileSync(join(folder, path), 'utf8')
  return records.flatMap((name) => {
    const [heading] = readFileSync(join(folder, 'infra/decisions', name), 'utf8').split('\n')
    const title = /^# \d{4} (.+)$/.exec(heading)?.[1]
    if (title === undefined)
      return [`infra/decisions/${name}:1  the heading must have the form "# 0000 Title"`]
    const listed =
      index.includes(`[${title.replaceAll('`', '')}](${name})`) || index.includes(`[${title}](${name})`)
    return listed ? [] : [`${path}  does not list ${name} as [${title}](${name})`]
  })
}

/**
 * Tables that start with "Folder of" must name each folder there once, and no other: the sources of an app in its README, packages and
 * infra in the overview.
 */
function mapProblems() {
  const overview = 'infra/site/overview.md'
  const apps = readdirSync(join(folder, 'apps'))
  return [
    ...apps.flatMap((app) => tableProblems(`apps/${app}/README.md`, 'src', `apps/${app}/src`)),
    ...(existsSync(join(folder, overview))
      ? ['packages', 'infra'].flatMap((name) => tableProblems(overview, name, name))
      : []),
  ]
}

function tableProblems(path, title, place) {
  const lines = readFileSync(join(folder, path), 'utf8').split('\n')
  const [, , ...rows] = lines.slice(lines.findIndex((line) => line.startsWith(`| Folder of \`${title}\``)))
  const end = rows.findIndex((row) => !row.startsWith('|'))
  const cells = rows.slice(0, end).map((row) => row.split('|')[1] ?? '')
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, name]) => name)).sort()
  const entries = readdirSync(join(folder, place), { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return [
    ...folders.filter((name) => !named.includes(name)),
    ...named.filter((name, i) => !folders.includes(name) || name === named[i + 1]),
  ].map((name) => `${path}  must name the folder ${name} of ${title} once, if there is one`)
}

/** The anchors GitHub gives the headings of a Markdown file. */
function anchorsOf(path) {
  if (!anchors.has(path)) anchors.set(path, readAnchors(path))
  return anchors.get(path)
}

function readAnchors(path) {
  if (!existsSync(join(folder, path))) return new Set()
  const headings = readFileSync(join(folder, path), 'utf8').matchAll(/^#{1,6} (.+)$/gm)
  return new Set([...headings].map(([, text]) => slug(text)))
}

function slug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
