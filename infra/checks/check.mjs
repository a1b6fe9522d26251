// Every check that is not a test, as many side by side as there are cores. `npm test` and `npm run check` both use this list.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import { bootstrapOrExit, root, run, seconds, tool } from '../local/bootstrap.mjs'

/** In the order they begin. Those with `built` wait for what `types` writes. The long ones come first. */
const checks = [
  { name: 'types', command: ['typescript/bin/tsc', '-b'] },
  {
    name: 'lint',
    command: [
      'eslint/bin/eslint.js',
      ...['--cache', '--cache-location=.cache/eslint', '--cache-strategy=content', '.'],
    ],
  },
  {
    name: 'format',
    command: [
      'prettier/bin/prettier.cjs',
      ...['--check', '--log-level=warn', '--cache', '--cache-location=.cache/prettier', '.'],
    ],
    fix: 'npm run format',
  },
  {
    name: 'layers',
    command: cruise('.dependency-cruiser.cjs', 'apps', 'packages', 'infra/local/src', 'infra/load/src'),
  },
  { name: 'run-time layers', command: cruise('infra/checks/run-time-layers.cjs', 'apps') },
  { name: 'dead code', command: ['knip/bin/knip.js', '--no-progress', '--no-config-hints'] },
  { name: 'package entries', script: 'infra/checks/entries.mjs' },
  { name: 'references', script: 'infra/checks/references.mjs' },
  { name: 'records', script: 'infra/checks/records.mjs' },
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

/** Runs them all, even when one fails, and returns the names of those that failed. */
export async function runChecks() {
  const failed = []
  const waiting = [...checks]
  const running = new Map()
  while (waiting.length + running.size > 0) {
    const next = waiting.findIndex(({ built }) => !built || !isPending('types'))
    if (next !== -1 && running.size < availableParallelism()) {
      const [check] = waiting.splice(next, 1)
      running.set(check.name, runCheck(check))
    } else {
      const { name, ok } = await Promise.race(running.values())
      running.delete(name)
      if (!ok) failed.push(name)
    }
  }
  return failed

  function isPending(name) {
    return running.has(name) || waiting.some((check) => check.name === name)
  }
}

async function runCheck({ name, command, script, fix }) {
  const startedAt = performance.now()
  const args = script ? [`${root}/${script}`] : [tool(command[0]), ...command.slice(1)]
  const { ok, output } = await run(process.execPath, args)
  console.log(`  ${ok ? '✓' : '✗'} ${name.padEnd(16)} ${seconds(startedAt).padStart(8)}`)
  if (!ok) console.log(`\n${output.trim()}\n${fix ? `\n  To fix it: ${fix}\n` : ''}`)
  return { name, ok }
}

const isMain =
  process.argv[1] && existsSync(process.argv[1]) && pathToFileURL(process.argv[1]).href === import.meta.url
if (isMain) {
  await bootstrapOrExit({ projects: [] })
  const failed = await runChecks()
  if (failed.length > 0) process.exitCode = 1
}
