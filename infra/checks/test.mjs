// `npm test` runs every check and every test. `npm test -- <path …> [jest arguments]` runs the types and tests of those paths.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bootstrapOrExit, root, workspaceFolders } from '../local/bootstrap.mjs'
import { seconds } from './run.mjs'
import { ensureChromium, nameChromium } from './chromium.mjs'

const LOCAL = 'infra/local/tsconfig.build.json'
const USAGE = `npm test                                 every check and every test
npm test -- <path> … [jest arguments]    the types and tests of these folders or files
npm test -- apps/auth -t refresh         the tests of apps/auth whose names contain a word

Arguments after the paths go to jest: https://jestjs.io/docs/cli`

const words = process.argv.slice(2)
if (words.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const paths = leadingPaths(words)

if (paths.length > 0) await testPaths(paths, words.slice(paths.length))
else await testEverything()

/** Returns the paths at the beginning: the first word, and existing paths after it. The rest is for jest. */
function leadingPaths(words) {
  const end = words.findIndex((word, i) => word.startsWith('-') || (i > 0 && !existsSync(`${root}/${word}`)))
  // As a pattern for jest, this would silently exclude all paths after it.
  if (/^[^-].*\/.*\.ts$/.test(words[end] ?? '')) {
    console.error(`${words[end]} does not exist`)
    process.exit(1)
  }
  return words
    .slice(0, end === -1 ? words.length : end)
    .map((word) => word.replace(/^\.\//, '').replace(/\/+$/, ''))
}

/** Returns the workspace folder that contains a path: `apps/auth` for `apps/auth/src/x.test.ts`. */
function folderOf(path) {
  const found = workspaceFolders().find((name) => path === name || path.startsWith(`${name}/`))
  if (found && existsSync(`${root}/${path}`)) return found
  console.error(`${path} is not inside a folder of the workspace: ${workspaceFolders().join(', ')}`)
  process.exit(1)
}

/** Returns the apps if a test among the paths starts them as processes, because no import leads the compiler to them. */
function appsStartedIn(paths) {
  const startsThem = (file) =>
    file.endsWith('.test.ts') && /\b(startStack|runScenario)\(/.test(readFileSync(file, 'utf8'))
  if (!paths.some((path) => filesIn(join(root, path)).some(startsThem))) return []
  return workspaceFolders().filter((folder) => folder.startsWith('apps/'))
}

function filesIn(path) {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && name !== 'dist')
    .flatMap(({ name }) => filesIn(join(path, name)))
}

async function testPaths(paths, jestArguments) {
  const folders = [...new Set(paths.map(folderOf))]
  await bootstrapOrExit({ projects: [LOCAL, ...folders, ...appsStartedIn(paths)] })
  nameChromium()
  const { runJest } = await import('./jest.mjs')
  // If only folders are given, they are the roots, and jest's own patterns may narrow them further.
  const patterns = paths.every((path) => folders.includes(path)) ? [] : paths.map((path) => `${root}/${path}`)
  const roots = folders.map((folder) => `--roots=${root}/${folder}`)
  // A folder may have no tests, but arguments that select tests and find none are a mistake.
  const narrowed = patterns.length + jestArguments.length > 0
  finish(await runJest([...patterns, ...jestArguments, ...(narrowed ? [] : ['--passWithNoTests']), ...roots]))
}

async function testEverything() {
  const startedAt = performance.now()
  await bootstrapOrExit({ projects: [] })
  const { runChecks } = await import('./check.mjs')
  const { runJest } = await import('./jest.mjs')
  const browser = ensureChromium()
  const { failed: failedChecks, result: tests } = await runChecks(async () => {
    const noBrowser = await browser
    if (noBrowser) console.log(`  ! tests of pages are skipped: ${noBrowser}`)
    return runJest(words)
  })
  // A run in CI, which decides whether a change is merged, must not pass by skipping tests.
  if ((await browser) && process.env.CI) failedChecks.push('browser')
  const checks = failedChecks.length > 0 ? `failed checks: ${failedChecks.join(', ')}` : 'all checks passed'
  console.log(`\n${checks}; everything took ${seconds(startedAt)}`)
  finish({ ...tests, failed: tests.failed + failedChecks.length })
}

function finish({ passed, failed, skipped }) {
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 ? 1 : 0
}
