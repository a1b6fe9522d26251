// `npm run mutation`: changes the pure cores in every small way and counts which changes their unit tests notice.
// `npm run mutation -- jwt refresh`: only these cores. Prints the table of .github/CONTRIBUTING.md.
import { dirname, join } from 'node:path'
import { bootstrapOrExit, root } from '../local/bootstrap.mjs'

const LEAST_PERCENT = 90

/** Each core: the files that are changed, and the tests that must notice. None of them needs a database. */
const cores = {
  redirects: { mutate: ['apps/auth/src/redirects/*.ts'], tests: ['apps/auth/src/redirects/*'] },
  refresh: {
    mutate: ['apps/auth/src/sessions/{refresh-token,session}.ts'],
    tests: ['apps/auth/src/sessions/{refresh-token,session}'],
  },
  signature: {
    mutate: [
      'packages/standard-webhooks/src/index.ts',
      'packages/webhook-core/src/signature/signature.ts',
      'packages/webhook-verify/src/{errors,headers,secret,verify}.ts',
    ],
    tests: [
      'packages/standard-webhooks/src/standard-webhooks',
      'packages/webhook-core/src/signature/signature',
      'packages/webhook-verify/src/verify',
    ],
  },
  schedule: {
    mutate: [
      'packages/webhook-core/src/delivery/retry-schedule.ts',
      'apps/dispatcher/src/attempts/decide.ts',
    ],
    tests: ['packages/webhook-core/src/delivery/retry-schedule', 'apps/dispatcher/src/attempts/decide'],
  },
  'failure-reasons': {
    mutate: [
      'packages/webhook-core/src/delivery/failure-reasons.ts',
      'apps/dispatcher/src/sending/attempt-failure.ts',
    ],
    tests: [
      'packages/webhook-core/src/delivery/failure-reasons',
      'apps/dispatcher/src/sending/attempt-failure',
    ],
  },
  jwt: {
    mutate: ['packages/jwt/src/{compact-token,jwt,jwt-error,key}.ts'],
    tests: ['packages/jwt/src/{attacks,jwt}'],
  },
  'jwt-keys': {
    mutate: ['packages/jwt/src/{jwk,key-ring,public-key-set}.ts'],
    tests: ['packages/jwt/src/key-ring'],
  },
  jwks: { mutate: ['packages/jwt/src/jwks-client.ts'], tests: ['packages/jwt/src/jwks-client'] },
  addresses: {
    mutate: ['packages/address-guard/src/{address-guard,ip-ranges}.ts'],
    tests: ['packages/address-guard/src/{address-guard,ip-ranges}'],
  },
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(cores, name))
if (unknown.length > 0) {
  console.error(`no such core: ${unknown.join(', ')}; there are ${Object.keys(cores).join(', ')}`)
  process.exit(1)
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

async function score(name, { mutate, tests }) {
  const results = await new Stryker({
    mutate: [...mutate, '!**/*.test.ts'],
    plugins: ['@stryker-mutator/jest-runner'],
    testRunner: 'jest',
    testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    coverageAnalysis: 'perTest',
    jest: { projectType: 'custom', config: jestConfigFor(tests), enableFindRelatedTests: false },
    concurrency: 1,
    // Each run leaves its modules in memory: with many of them the process would only collect garbage.
    maxTestRunnerReuse: 25,
    // Long enough that only a change that never ends counts as noticed this way, even on a busy machine.
    timeoutMS: 20_000,
    timeoutFactor: 4,
    // What no mutant or test of these cores reads.
    ignorePatterns: ['.ci', '.data', '.github', 'infra', '**/dist', '**/docs', '**/migrations', '**/*.html'],
    tempDirName: '.cache/stryker',
    reporters: ['clear-text', 'html', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
    htmlReporter: { fileName: join(root, `.cache/mutation/${name}.html`) },
    allowConsoleColors: false,
    fileLogLevel: 'off',
    logLevel: 'warn',
    // One that is not noticed must be told by the score below, not by an exit in the middle.
    thresholds: { high: 100, low: LEAST_PERCENT, break: null },
  }).runMutationTest()
  const counted = results.filter(
    ({ status }) => !['Ignored', 'CompileError', 'RuntimeError'].includes(status),
  )
  const killed = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout')
  return { name, all: counted.length, killed: killed.length }
}

/** What differs from jest.config.js, which Stryker reads: no database, and only the core's own tests. */
function jestConfigFor(tests) {
  return {
    globalSetup: null,
    globalTeardown: null,
    watchman: false,
    roots: [...new Set(tests.map((path) => `<rootDir>/${dirname(path)}`))],
    testMatch: tests.map((path) => `<rootDir>/${path}.test.ts`),
  }
}

function percent({ killed, all }) {
  return all === 0 ? 0 : (100 * killed) / all
}
