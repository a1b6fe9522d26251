// `npm run model`: checks the model of a delivery (apps/dispatcher/docs/model/delivery.pml) with Spin. Also checks that the model can
// fail: without the sweeper, it must find an event that is lost. If Spin or a C compiler is missing, says so and skips the check.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { optionsOrExit } from '../local/arguments.mjs'
import { root } from '../local/bootstrap.mjs'

const MODEL = 'delivery.pml'
/** Maximum steps of a run, far more than the longest one has. */
const DEPTH = 1_000_000

optionsOrExit('npm run model    checks the model of a delivery with Spin and a C compiler')
const missing = ['spin', 'cc'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
if (missing.length > 0) {
  console.log(`skipped: ${missing.join(' and ')} not installed (on Debian: apt-get install spin gcc)`)
} else {
  const folder = mkdtempSync(join(tmpdir(), 'signet-model-'))
  try {
    // Spin leaves its files, including the trail of a failure, next to the model.
    copyFileSync(join(root, 'apps/dispatcher/docs/model', MODEL), join(folder, MODEL))
    process.exitCode = checkAll(folder) ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function checkAll(folder) {
  const whole = compile(folder, [])
  const results = [
    expect('nothing that was acknowledged is lost', whole('nothingLost'), 'holds'),
    expect('what is delivered stays delivered', whole('deliveredStays'), 'holds'),
    expect('nothing is lost, without the sweeper', compile(folder, ['-DNO_SWEEPER'])('nothingLost'), 'fails'),
  ]
  const trail = execFileSync('spin', ['-t', '-DNO_SWEEPER', '-DKILLS=1', '-p', MODEL], {
    cwd: folder,
    encoding: 'utf8',
  })
  console.log('\nHow an event is lost without the sweeper:')
  for (const [, who, step] of trail.matchAll(/proc\s+\d+ \((\w+):\d+\).*\[(.*)\]$/gm))
    console.log(`  ${who}: ${step}`)
  return results.every(Boolean)
}

/** Returns a function that checks one property and returns whether it holds. */
function compile(folder, options) {
  const inFolder = { cwd: folder, encoding: 'utf8' }
  execFileSync('spin', ['-a', ...options, ...(options.length > 0 ? ['-DKILLS=1'] : []), MODEL], inFolder)
  execFileSync('cc', ['-O2', '-DNFAIR=4', '-o', 'pan', 'pan.c'], inFolder)
  return (property) => {
    const output = execFileSync('./pan', ['-a', '-f', '-N', property, `-m${DEPTH}`], inFolder)
    const [, errors] = /errors: (\d+)/.exec(output) ?? []
    const [, states] = /(\d+(?:\.\d+e\+\d+)?) states, stored/.exec(output) ?? []
    if (errors === undefined || /max search depth too small/.test(output)) throw new Error(output)
    return { result: errors === '0' ? 'holds' : 'fails', states }
  }
}

function expect(title, { result, states }, wanted) {
  console.log(`${result === wanted ? '✓' : '✗'} ${title}: ${result} (${states} states)`)
  return result === wanted
}
