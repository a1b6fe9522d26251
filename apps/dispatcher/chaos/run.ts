// `npm run chaos`: runs every fault of the list under steady load, then settles the account of every acknowledged event. `list` names
// the faults, `only=<regular expression>` picks some; `beside=<folder>` is a compiled checkout of another version, for the fault that
// mixes two.
import { resolve } from 'node:path'
import { allFaults, shortFaults } from './faults/all-faults.js'
import type { Fault } from './faults/fault.js'
import { missingFor, runApart } from './machine.js'
import { runScenario } from './scenario.js'

const unknown = process.argv.slice(2).find((word) => !/^(only=|beside=|list$|--short$|--source$)/.test(word))
if (unknown !== undefined) {
  console.error(`unknown argument: ${unknown}`)
  process.exit(2)
}
if (process.argv.includes('list')) {
  for (const { name } of allFaults('')) console.log(name)
  process.exit(0)
}
const exitCode = runApart()
if (exitCode !== null) process.exit(exitCode)

const GOAL_MS = 5_000
const startedAt = Date.now()
const say = (line: string) =>
  console.log(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${line}`)

const valueOf = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
const short = process.argv.includes('--short')
const beside = valueOf('beside')
const only = new RegExp(valueOf('only') ?? '')

/** Returns why a fault cannot run here, or null. */
function obstacleTo({ needs }: Fault): string | null {
  if (needs === undefined) return null
  if (needs !== 'another version') return missingFor(needs)
  return beside === undefined ? 'needs beside=<folder>' : null
}

const wanted = (short ? shortFaults : allFaults(beside && resolve(beside))).filter(({ name }) =>
  only.test(name),
)
for (const fault of wanted) {
  const obstacle = obstacleTo(fault)
  if (obstacle !== null) say(`SKIPPED  ${fault.name}: ${obstacle}`)
}
const possible = wanted.filter((fault) => obstacleTo(fault) === null)
for (const watched of [false, true]) {
  const faults = possible.filter((fault) => (fault.watched ?? false) === watched)
  if (faults.length > 0 && !(await passes(faults, watched))) process.exitCode = 1
}

async function passes(list: readonly Fault[], watched: boolean): Promise<boolean> {
  const { faults, account, repeated, duplicates, refused } = await runScenario({
    code: process.argv.includes('--source') ? 'source' : 'dist',
    faults: list,
    watched,
    perSecond: 20,
    calmMs: short ? 2_000 : 5_000,
    seed: Number(process.env['CHAOS_SEED'] ?? 1),
    say,
  })
  const { complete, prepared, test } = account.acknowledged
  say(
    `acknowledged: ${complete} complete notices, ${prepared} to be prepared, ${test} test events; ${repeated} requests had to be repeated, ${duplicates} of them after a commit whose answer was lost`,
  )
  say(
    `${account.delivered} of ${account.deliveries} deliveries arrived; ended otherwise: ${JSON.stringify(account.ended)}`,
  )
  say(`${account.repeats} requests were repeats of one that was answered; ${refused} had a wrong signature`)
  for (const problem of account.problems) say(`PROBLEM  ${problem}`)
  const slow = faults.filter(
    ({ dispatchingAfterMs }) => Math.max(...Object.values(dispatchingAfterMs)) > GOAL_MS,
  )
  for (const { name } of slow) say(`SLOW  ${name}`)
  const lost = account.problems.length > 0 || refused > 0
  say(lost ? 'something was lost' : 'nothing was lost')
  return !lost && slow.length === 0
}
