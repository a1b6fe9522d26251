// `npm test`: every check and every test. `npm test -- <folder> [jest arguments]`: that folder's types and tests.
import { existsSync } from 'node:fs'
import { bootstrapOrExit, root, seconds, workspaceFolders } from './bootstrap.mjs'
import { ensureChromium, nameChromium } from './chromium.mjs'

const LOCAL = 'infra/local/tsconfig.build.json'
const [target, ...jestArguments] = process.argv.slice(2)
const folder = target && !target.startsWith('-') && folderOf(target)

if (folder) await testFolder(folder)
else await testEverything()

/** The workspace folder a path lies in, if any: `apps/auth/src/x.test.ts` lies in `apps/auth`. */
function folderOf(path) {
  const clean = path.replace(/^\.\//, '').replace(/\/+$/, '')
  const found = workspaceFolders().find((name) => clean === name || clean.startsWith(`${name}/`))
  if (found && existsSync(`${root}/${clean}`)) return found
  console.error(`${path} is not inside a folder of the workspace: ${workspaceFolders().join(', ')}`)
  process.exit(1)
}

async function testFolder(name) {
  await bootstrapOrExit({ projects: [LOCAL, name] })
  nameChromium()
  const { runJest } = await import('../checks/jest.mjs')
  const pattern = target === name ? [] : [target]
  // --roots comes last, because it takes all words after it.
  finish(await runJest([...pattern, ...jestArguments, '--passWithNoTests', `--roots=${root}/${name}`]))
}

async function testEverything() {
  const startedAt = performance.now()
  await bootstrapOrExit({ projects: [] })
  const { runChecks } = await import('../checks/check.mjs')
  const { runJest } = await import('../checks/jest.mjs')
  const failedChecks = await runChecks()
  const noBrowser = await ensureChromium()
  if (noBrowser) console.log(`  ! tests of pages are skipped: ${noBrowser}`)
  // A run that decides over a change must not pass by skipping.
  if (noBrowser && process.env.CI) failedChecks.push('browser')
  const tests = await runJest(process.argv.slice(2))
  const checks = failedChecks.length > 0 ? `failed checks: ${failedChecks.join(', ')}` : 'all checks passed'
  console.log(`\n${checks}; everything took ${seconds(startedAt)}`)
  finish({ ...tests, failed: tests.failed + failedChecks.length })
}

function finish({ passed, failed, skipped }) {
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 ? 1 : 0
}
