// Every check that is not a test, in the order they run. `npm test` and `npm run check` both use this list.
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { bootstrapOrExit, root, run, seconds, tool } from '../local/bootstrap.mjs'

const checks = [
  // Types come first: the linter reads the declarations this writes, and the tests start servers from its output.
  { name: 'types', command: ['typescript/bin/tsc', '-b'] },
  {
    name: 'format',
    command: [
      'prettier/bin/prettier.cjs',
      ...['--check', '--log-level=warn', '--cache', '--cache-location=.cache/prettier', '.'],
    ],
    fix: 'npm run format',
  },
  {
    name: 'lint',
    command: [
      'eslint/bin/eslint.js',
      ...['--cache', '--cache-location=.cache/eslint', '--cache-strategy=content', '.'],
    ],
  },
  {
    name: 'layers',
    command: cruise('.dependency-cruiser.cjs', 'apps', 'packages', 'infra/local/src', 'infra/load/src'),
  },
  { name: 'run-time layers', command: cruise('infra/checks/run-time-layers.cjs', 'apps') },
  { name: 'dead code', command: ['knip/bin/knip.js', '--no-progress', '--no-config-hints'] },
  { name: 'package entries', script: 'infra/checks/entries.mjs' },
  { name: 'references', script: 'infra/checks/references.mjs' },
  { name: 'generated docs', script: 'infra/checks/docs.mjs', fix: 'npm run docs' },
  { name: 'OpenAPI', script: 'infra/checks/open-api.mjs' },
]

function cruise(config, ...folders) {
  return [
    'dependency-cruiser/bin/dependency-cruise.mjs',
    '--config',
    config,
    '--output-type',
    'err',
    ...folders,
  ]
}

/** Runs them all, even when one fails, and returns the names of those that failed. */
export async function runChecks() {
  const failed = []
  for (const check of checks) {
    if (!(await runCheck(check))) failed.push(check.name)
  }
  return failed
}

async function runCheck({ name, command, script, fix }) {
  const startedAt = performance.now()
  const args = script ? [`${root}/${script}`] : [tool(command[0]), ...command.slice(1)]
  const { ok, output } = await run(process.execPath, args)
  console.log(`  ${ok ? '✓' : '✗'} ${name.padEnd(16)} ${seconds(startedAt).padStart(8)}`)
  if (!ok) console.log(`\n${output.trim()}\n${fix ? `\n  To fix it: ${fix}\n` : ''}`)
  return ok
}

const isMain =
  process.argv[1] && existsSync(process.argv[1]) && pathToFileURL(process.argv[1]).href === import.meta.url
if (isMain) {
  await bootstrapOrExit({ projects: [] })
  const failed = await runChecks()
  if (failed.length > 0) process.exitCode = 1
}
