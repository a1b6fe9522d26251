// `npm run interop`: tests third-party clients against the service, and prints a table of what each of them can do. First downloads
// clients in other languages into .cache, if the machine has the language and a network. Skips and names those that are missing.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { optionsOrExit } from '../local/arguments.mjs'
import { bootstrapOrExit, root } from '../local/bootstrap.mjs'
import { jestCommand, run } from './run.mjs'

const CACHE = join(root, '.cache/interop')
const PAGE = join(root, 'apps/webhooks/docs/interop.md')
const GO = join(root, 'apps/webhooks/test/interop/go')
const RUST = join(root, 'apps/webhooks/test/interop/rust')
const PYTHON_PACKAGES = [
  'authlib==1.9.9',
  'mcp==2.3.0',
  'openapi-python-client==0.29.1',
  'requests==2.34.2',
  'schemathesis==4.32.5',
  'standardwebhooks==1.1.0',
]
// The last release that also runs on Node 20.
const INSPECTOR_VERSION = '1.0.3'

const CLIENTS = 'apps/webhooks/test/real-clients.test.ts'
const HOSTS = 'apps/webhooks/test/mcp-clients.test.ts'
const LANGUAGES = 'apps/webhooks/test/interop.test.ts'
const DOCUMENT = 'apps/webhooks/test/document-clients.test.ts'
const AUTH_DOCUMENT = 'apps/auth/test/document-clients.test.ts'
const GENERATED = 'apps/webhooks/test/generated-client.test.ts'
const AUTH_GENERATED = 'apps/auth/test/generated-client.test.ts'
const SIGNATURE = 'packages/webhook-core/src/signature/signature.test.ts'

const FLOW = 'authorization code with PKCE, exchange, refresh'
const DELIVERY = 'by the tools of /mcp to a verified delivery'
const VERIFIES = 'verifies deliveries, also while a secret is replaced'
const GENERATES = 'generates a client from the OpenAPI document'
const GENERATES_FOR_AUTH = `${GENERATES} of apps/auth`
const WEBHOOK = 'which creates, lists and deletes a webhook'
const USER = 'which creates a user, signs in, reads and deletes the user'
const GENERATED_CLIENT = 'a client that openapi-typescript generates'

/** Rows of the table: the client and its version, what it does, and the name of its tests if it differs from the name of the client. */
const ROWS = [
  {
    ...npm('@modelcontextprotocol/sdk'),
    does: `discovery from the challenge, registration, ${FLOW}, ${DELIVERY}`,
    file: CLIENTS,
    tests: '@modelcontextprotocol/sdk 1.x',
  },
  {
    ...npm('@modelcontextprotocol/client'),
    does: `discovery, registration, ${FLOW}, check of the issuer, ${DELIVERY}`,
    file: CLIENTS,
    tests: '@modelcontextprotocol/client 2.x',
  },
  {
    ...python('mcp'),
    does: `discovery, registration, authorization code with PKCE, exchange, ${DELIVERY}`,
    file: HOSTS,
    tests: 'mcp for Python',
  },
  { ...inspector(), does: `with a personal token ${DELIVERY}`, file: HOSTS, tests: 'MCP Inspector' },
  { ...npm('oauth4webapi'), does: `discovery, registration, ${FLOW}, revocation, errors`, file: CLIENTS },
  { ...npm('openid-client'), does: `discovery, registration, ${FLOW}, revocation`, file: CLIENTS },
  { ...npm('simple-oauth2'), does: `${FLOW}, revocation of both tokens`, file: LANGUAGES },
  { ...python('authlib'), client: 'Authlib', does: `${FLOW}, revocation`, file: LANGUAGES },
  { ...go('golang.org/x/oauth2'), does: FLOW, file: LANGUAGES },
  {
    ...npm('standardwebhooks', 'packages/webhook-core'),
    does: VERIFIES,
    file: SIGNATURE,
    tests: 'the published library of Standard Webhooks',
  },
  { ...python('standardwebhooks'), does: VERIFIES, file: LANGUAGES, tests: 'standardwebhooks for Python' },
  {
    ...go('github.com/standard-webhooks/standard-webhooks/libraries'),
    client: 'standard-webhooks/libraries',
    does: VERIFIES,
    file: LANGUAGES,
    tests: 'standardwebhooks for Go',
  },
  { ...crate('standardwebhooks'), does: VERIFIES, file: LANGUAGES, tests: 'standardwebhooks for Rust' },
  {
    ...npm('openapi-typescript', 'packages/testkit'),
    does: `${GENERATES}, ${WEBHOOK}`,
    file: GENERATED,
    tests: GENERATED_CLIENT,
  },
  {
    ...npm('openapi-typescript', 'packages/testkit'),
    does: `${GENERATES_FOR_AUTH}, ${USER}`,
    file: AUTH_GENERATED,
    tests: GENERATED_CLIENT,
  },
  { ...python('openapi-python-client'), does: `${GENERATES}, ${WEBHOOK}`, file: DOCUMENT },
  {
    ...python('schemathesis'),
    does: 'finds no answer of /v1 that deviates from the OpenAPI document',
    file: DOCUMENT,
  },
  {
    ...python('schemathesis'),
    does: 'finds no answer of apps/auth that deviates from its OpenAPI document',
    file: AUTH_DOCUMENT,
    tests: 'schemathesis against apps/auth',
  },
]

/** Describes an npm package as a client. Its version is read last, because the package may not be installed yet. */
function npm(client, folder = 'apps/webhooks') {
  const version = () => {
    const paths = createRequire(join(root, folder, 'package.json')).resolve.paths(client)
    const manifest = paths.map((path) => join(path, client, 'package.json')).find(existsSync)
    return JSON.parse(readFileSync(manifest, 'utf8')).version
  }
  return { client, language: 'TypeScript', version }
}

function inspector() {
  const client = '@modelcontextprotocol/inspector --cli'
  return { client, language: 'TypeScript', version: () => INSPECTOR_VERSION }
}

function python(client) {
  const [, version] = PYTHON_PACKAGES.find((one) => one.startsWith(`${client}==`)).split('==')
  return { client, language: 'Python', version: () => version }
}

function go(client) {
  const version = () => new RegExp(`${client} v(\\S+)`).exec(readFileSync(join(GO, 'go.mod'), 'utf8'))[1]
  return { client, language: 'Go', version }
}

function crate(client) {
  const line = new RegExp(`^${client} = "=(\\S+)"`, 'm')
  return {
    client,
    language: 'Rust',
    version: () => line.exec(readFileSync(join(RUST, 'Cargo.toml'), 'utf8'))[1],
  }
}

const succeeds = (command, args, options = {}) =>
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options }).status === 0

/** Returns the interpreter of a virtual environment with the packages, or the machine's own if they cannot be installed. */
function pythonWithPackages() {
  const venv = join(CACHE, 'python')
  const python = join(venv, 'bin/python')
  const stamp = join(venv, 'packages')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === PYTHON_PACKAGES.join()) return python
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PYTHON_PACKAGES]
  if (!succeeds('python3', ['-m', 'venv', '--clear', venv]) || !succeeds(python, pip)) return 'python3'
  writeFileSync(stamp, PYTHON_PACKAGES.join())
  return python
}

/** Installs the command-line client of MCP Inspector in a separate folder. If that fails, its row is skipped. */
function installInspector() {
  const folder = join(CACHE, `inspector-${INSPECTOR_VERSION}`)
  const command = join(folder, 'node_modules/@modelcontextprotocol/inspector/cli/build/cli.js')
  const wanted = `@modelcontextprotocol/inspector@${INSPECTOR_VERSION}`
  const npm = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', wanted]
  if (!existsSync(command)) succeeds('npm', [...npm, '--loglevel=error'])
  return command
}

/** Returns passed, failed or skipped for each row, from jest's own report. */
function resultsOf({ testResults }) {
  return ROWS.map((row) => {
    const { status: whole, assertionResults } = testResults.find(({ name }) => name === join(root, row.file))
    const statuses = assertionResults
      .filter(({ ancestorTitles }) => ancestorTitles[0] === (row.tests ?? row.client))
      .map(({ status }) => status)
    const ran = statuses.filter((status) => status !== 'pending')
    // If the file itself fails, for example because an answer is not documented, any of its tests may be the cause.
    const atFault = whole === 'failed' && !assertionResults.some(({ status }) => status === 'failed')
    if (ran.includes('failed') || statuses.length === 0 || atFault) return 'failed'
    return ran.length === 0 ? 'skipped' : 'passed'
  })
}

const page = (table) => `# Third-party clients

Published libraries, unchanged, run against the service. \`npm run interop\` runs them all, prints this table, and writes
this page when none is skipped; \`npm test\` runs those that the machine has. The tests are in
[real-clients.test.ts](../test/real-clients.test.ts), [mcp-clients.test.ts](../test/mcp-clients.test.ts), [interop.test.ts](../test/interop.test.ts),
[document-clients.test.ts](../test/document-clients.test.ts) (and [that of apps/auth](../../auth/test/document-clients.test.ts)),
[generated-client.test.ts](../test/generated-client.test.ts) (and [that of apps/auth](../../auth/test/generated-client.test.ts)) and
[signature.test.ts](../../../packages/webhook-core/src/signature/signature.test.ts). Verifiers of our own for Python, Go, PHP and Ruby
are in [packages/webhook-verify](../../../packages/webhook-verify/README.md#other-languages).

${table}
`

optionsOrExit('npm run interop    runs third-party clients, in several languages, against the service')
await bootstrapOrExit({
  projects: ['infra/local/tsconfig.build.json', 'apps/auth', 'apps/webhooks', 'apps/dispatcher'],
})
mkdirSync(CACHE, { recursive: true })
process.env.SIGNET_INTEROP_PYTHON ??= pythonWithPackages()
process.env.SIGNET_INTEROP_INSPECTOR ??= installInspector()
succeeds('go', ['mod', 'download'], { cwd: GO, env: { ...process.env, GOTOOLCHAIN: 'local' } })
succeeds('cargo', ['fetch', '--quiet', '--locked'], { cwd: RUST })

const reportFile = join(CACHE, `report-${process.pid}.json`)
const files = [...new Set(ROWS.map(({ file }) => join(root, file)))]
await run(process.execPath, [...jestCommand, '--json', `--outputFile=${reportFile}`, ...files], {
  inheritErrors: true,
})
const results = resultsOf(JSON.parse(readFileSync(reportFile, 'utf8')))
rmSync(reportFile)
const { markdownTable } = await import('markdown-table')
const table = markdownTable([
  ['Client', 'Language', 'Version', 'What it does', 'Result'],
  ...ROWS.map(({ client, language, version, does }, i) => [client, language, version(), does, results[i]]),
])
console.log(`\n${table}`)
if (results.every((result) => result === 'passed')) writeFileSync(PAGE, page(table))
if (results.includes('failed')) process.exitCode = 1
