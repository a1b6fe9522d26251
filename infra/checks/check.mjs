// Every check that is not a test. `npm test` and `npm run check` both use this list (decision 0003).
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import { optionsOrExit } from '../local/arguments.mjs'
import { bootstrapOrExit, root } from '../local/bootstrap.mjs'
import { run, seconds, tool } from './run.mjs'

/** Lower priority than the tests. Most of those wait for something, and the checks fill the gaps. */
const NICENESS = 5

const compiledApps = ['auth', 'webhooks', 'dispatcher'].map((app) => `apps/${app}/dist/main.js`)

/** In the order in which they start, the long ones first. Those with `built` wait for the output of `types`. */
const checks = [
  { name: 'types', command: ['typescript-7/bin/tsc', '-b'] },
  { name: 'lint', command: ['oxlint/bin/oxlint', '--type-aware', '--format', 'unix', '.'] },
  { name: 'format', command: ['oxfmt/bin/oxfmt', '--check'], fix: 'npm run format' },
  {
    name: 'layers',
    command: cruise(
      '.dependency-cruiser.cjs',
      'apps',
      'packages',
      'infra/local/src',
      'infra/bench/src',
      'infra/load/src',
    ),
  },
  {
    name: 'run-time layers',
    command: cruise('infra/checks/run-time-layers.cjs', ...compiledApps),
    built: true,
  },
  { name: 'folder cycles', script: 'infra/checks/folder-cycles.mjs' },
  { name: 'dead code', command: ['knip/bin/knip.js', '--no-progress', '--no-config-hints'] },
  { name: 'package entries', script: 'infra/checks/entries.mjs' },
  { name: 'project references', script: 'infra/checks/project-references.mjs' },
  { name: 'references', script: 'infra/checks/references.mjs' },
  { name: 'records', script: 'infra/checks/records.mjs' },
  { name: 'words', script: 'infra/checks/words.mjs' },
  { name: 'threat model', script: 'infra/checks/threat-model.mjs' },
  { name: 'generated docs', script: 'infra/checks/docs.mjs', built: true, fix: 'npm run docs' },
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

/**
 * Runs all checks, even if one fails, with as many at the same time as there are cores. Starts `beside` as soon as everything is
 * compiled; from then on, the checks use the cores that it leaves free. Returns the names of the checks that failed, and what `beside`
 * returned. Prints the output of failed checks at the end, where it is not lost among the output of others.
 */
export async function runChecks(beside = async () => undefined) {
  const failed = []
  const waiting = [...checks]
  const running = new Map()
  let result
  while (waiting.length + running.size > 0) {
    const next = waiting.findIndex(({ built }) => !built || result)
    if (next !== -1 && running.size < availableParallelism()) {
      const [check] = waiting.splice(next, 1)
      running.set(check.name, runCheck(check))
    } else {
      const ended = await Promise.race(running.values())
      running.delete(ended.name)
      if (!ended.ok) failed.push(ended)
      if (ended.name === 'types') result = Promise.allSettled([beside()])
    }
  }
  const [{ value, reason }] = await result
  for (const { name, output, fix } of failed)
    console.log(`\n✗ ${name}\n\n${output.trim()}\n${fix ? `\n  To fix it: ${fix}\n` : ''}`)
  if (reason) throw reason
  return { failed: failed.map(({ name }) => name), result: value }
}

async function runCheck({ name, command, script, fix }) {
  const startedAt = performance.now()
  const args = script ? [`${root}/${script}`] : [tool(command[0]), ...command.slice(1)]
  // Everything else waits for `types`.
  const { ok, output } =
    name === 'types'
      ? await run(process.execPath, args)
      : await run('nice', ['-n', String(NICENESS), process.execPath, ...args])
  console.log(`  ${ok ? '✓' : '✗'} ${name.padEnd(18)} ${seconds(startedAt).padStart(8)}`)
  return { name, ok, output, fix }
}

const isMain =
  process.argv[1] && existsSync(process.argv[1]) && pathToFileURL(process.argv[1]).href === import.meta.url
if (isMain) {
  optionsOrExit('npm run check    every check, without the tests')
  await bootstrapOrExit({ projects: [] })
  const { failed } = await runChecks()
  if (failed.length > 0) process.exitCode = 1
}
