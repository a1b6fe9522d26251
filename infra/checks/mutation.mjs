// `npm run mutation`: changes the pure cores in every small way and counts which changes their unit tests notice.
// `npm run mutation -- jwt refresh` does so only for these cores. Prints the table of .github/CONTRIBUTING.md.
import { dirname, join } from 'node:path'
import { bootstrapOrExit, root } from '../local/bootstrap.mjs'

const LEAST_PERCENT = 90

/**
 * The files of each core, and the test file that must notice changes to them. Rarely more than one file, because each is reloaded for
 * every change. None of them needs a database.
 */
const cores = {
  redirects: {
    'apps/auth/src/redirects/{pattern,plain-path,wildcards}.ts': 'apps/auth/src/redirects/pattern.test.ts',
    'apps/auth/src/redirects/redirects.ts': 'apps/auth/src/redirects/redirects.test.ts',
    'apps/auth/src/redirects/target.ts': 'apps/auth/src/redirects/target.test.ts',
  },
  refresh: {
    'apps/auth/src/sessions/refresh-token.ts': 'apps/auth/src/sessions/refresh-token.test.ts',
    'apps/auth/src/sessions/session.ts': 'apps/auth/src/sessions/session.test.ts',
  },
  signature: {
    'packages/standard-webhooks/src/index.ts': 'packages/standard-webhooks/src/standard-webhooks.test.ts',
    'packages/webhook-core/src/signature/signature.ts':
      'packages/webhook-core/src/signature/signature.test.ts',
    'packages/webhook-verify/src/{errors,headers,secret,signature,verify}.ts':
      'packages/webhook-verify/src/verify.test.ts',
  },
  schedule: {
    'packages/webhook-core/src/delivery/retry-schedule.ts':
      'packages/webhook-core/src/delivery/retry-schedule.test.ts',
    'apps/dispatcher/src/attempts/retry-decision.ts': 'apps/dispatcher/src/attempts/retry-decision.test.ts',
  },
  'failure-reasons': {
    'packages/webhook-core/src/delivery/failure-reasons.ts':
      'packages/webhook-core/src/delivery/failure-reasons.test.ts',
    'apps/dispatcher/src/sending/attempt-failure.ts': 'apps/dispatcher/src/sending/attempt-failure.test.ts',
  },
  jwt: {
    'packages/jwt/src/compact-token.ts': 'packages/jwt/src/attacks.test.ts',
    'packages/jwt/src/{jwt,jwt-error}.ts': 'packages/jwt/src/{attacks,jwt}.test.ts',
    'packages/jwt/src/key.ts': 'packages/jwt/src/key.test.ts',
    'packages/jwt/src/jwk.ts': 'packages/jwt/src/jwk.test.ts',
    'apps/auth/src/keys/key-ring.ts': 'apps/auth/src/keys/key-ring.test.ts',
    'apps/auth/src/keys/private-jwk.ts': 'apps/auth/src/keys/private-jwk.test.ts',
    'packages/jwt/src/jwks-client.ts': 'packages/jwt/src/jwks-client.test.ts',
  },
  addresses: {
    'packages/address-guard/src/address-guard.ts': 'packages/address-guard/src/address-guard.test.ts',
    'packages/address-guard/src/ip-ranges.ts': 'packages/address-guard/src/ip-ranges.test.ts',
  },
}

const USAGE = `npm run mutation               all cores
npm run mutation -- <core> …   some of ${Object.keys(cores).join(', ')}`

const asked = process.argv.slice(2)
if (asked.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const unknown = asked.filter((name) => !Object.hasOwn(cores, name))
if (unknown.length > 0) {
  console.error(`no such core: ${unknown.join(', ')}\n\n${USAGE}`)
  process.exit(2)
}

await bootstrapOrExit({ projects: [] })
const { Stryker } = await import('@stryker-mutator/core')

const rows = []
for (const name of asked.length > 0 ? asked : Object.keys(cores)) rows.push(await score(name, cores[name]))
const total = rows.reduce((sum, { killed, all }) => ({ killed: sum.killed + killed, all: sum.all + all }), {
  killed: 0,
  all: 0,
})
const today = new Date().toISOString().slice(0, 10)
console.log('\n| Core | Changes | Noticed | Score | Measured |\n| --- | --- | --- | --- | --- |')
for (const row of [...rows, { name: 'all', ...total }])
  console.log(`| ${row.name} | ${row.all} | ${row.killed} | ${percent(row).toFixed(1)} % | ${today} |`)
if (rows.some((row) => percent(row) < LEAST_PERCENT)) process.exitCode = 1

async function score(name, parts) {
  const row = { name, all: 0, killed: 0 }
  for (const [index, [mutate, test]] of Object.entries(parts).entries()) {
    const statuses = await statusesOf(mutate, test, `${name}-${index + 1}`)
    row.all += statuses.length
    row.killed += statuses.filter((status) => status === 'Killed' || status === 'Timeout').length
  }
  return row
}

/** Returns the status of every change to the files. Changes that do not compile are not counted. */
async function statusesOf(mutate, test, report) {
  const results = await new Stryker({
    mutate: [mutate],
    plugins: ['@stryker-mutator/jest-runner'],
    testRunner: 'jest',
    testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    coverageAnalysis: 'perTest',
    jest: { projectType: 'custom', config: jestConfigFor(test), enableFindRelatedTests: false },
    concurrency: 1,
    // Each run leaves its modules in memory. After many runs, the process would only collect garbage.
    maxTestRunnerReuse: 25,
    // Long enough that only a change that never ends counts as noticed because of it, even on a busy machine.
    timeoutMS: 20_000,
    timeoutFactor: 4,
    // Files that no mutant or test of these cores reads.
    ignorePatterns: [
      ...['.cache', '.ci', '.data', '.github', 'infra'],
      ...['**/dist', '**/docs', '**/migrations', '**/*.html'],
    ],
    tempDirName: '.cache/stryker',
    reporters: ['clear-text', 'html', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
    htmlReporter: { fileName: join(root, `.cache/mutation/${report}.html`) },
    allowConsoleColors: false,
    fileLogLevel: 'off',
    logLevel: 'warn',
    // The score below shows unnoticed changes. Stryker must not exit because of them.
    thresholds: { high: 100, low: LEAST_PERCENT, break: null },
  }).runMutationTest()
  const uncounted = ['Ignored', 'CompileError', 'RuntimeError']
  return results.map(({ status }) => status).filter((status) => !uncounted.includes(status))
}

/**
 * Returns the differences from jest.config.js, which Stryker reads: each run loads its modules, has no database, and runs only these
 * tests.
 */
function jestConfigFor(test) {
  return {
    testEnvironment: 'node',
    testRunner: 'jest-circus/runner',
    // Stryker's copy of the tree does not contain infra.
    testSequencer: join(root, 'infra/checks/jest/sequencer.mjs'),
    globalSetup: null,
    globalTeardown: null,
    watchman: false,
    roots: [`<rootDir>/${dirname(test)}`],
    testMatch: [`<rootDir>/${test}`],
  }
}

function percent({ killed, all }) {
  return all === 0 ? 0 : (100 * killed) / all
}
