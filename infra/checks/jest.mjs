import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../local/bootstrap.mjs'
import { jestCommand, run } from './run.mjs'

/** Runs jest, shows its output, and counts the tests. A test file that could not run at all is a failure. */
export async function runJest(args) {
  const folder = join(root, '.cache')
  const resultFile = join(folder, `jest-${process.pid}.json`)
  mkdirSync(folder, { recursive: true })
  const { ok, code, signal } = await run(
    process.execPath,
    [...jestCommand, '--json', `--outputFile=${resultFile}`, ...args],
    { inheritErrors: true },
  )
  try {
    const result = JSON.parse(readFileSync(resultFile, 'utf8'))
    const failed = result.numFailedTests + result.numRuntimeErrorTestSuites
    return {
      passed: result.numPassedTests,
      failed: ok ? failed : Math.max(failed, 1),
      skipped: result.numPendingTests + result.numTodoTests,
    }
  } catch {
    if (!ok) console.log(`jest itself ended with ${signal ?? `exit code ${code}`}, without a result`)
    return { passed: 0, failed: ok ? 0 : 1, skipped: 0 }
  } finally {
    rmSync(resultFile, { force: true })
  }
}
