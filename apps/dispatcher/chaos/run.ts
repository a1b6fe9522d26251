// `npm run chaos`: every fault of the list under steady load, then the account of every acknowledged event. `only=<regular
// expression>` picks faults by name.
import { allFaults, possible, shortFaults } from './faults.js'
import { isApart, missingForDisks, runApart } from './machine.js'
import { runScenario } from './scenario.js'

const missing = missingForDisks()
// Ends here when the same program ran with mounts of its own.
if (missing === null && !isApart()) process.exit(runApart())

const GOAL_MS = 15_000
const startedAt = Date.now()
const say = (line: string) =>
  console.log(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${line}`)

const short = process.argv.includes('--short')
const only = new RegExp(process.argv.find((word) => word.startsWith('only='))?.slice('only='.length) ?? '')
const wanted = (short ? shortFaults : allFaults).filter(({ name }) => only.test(name))
for (const { name } of wanted.filter((fault) => !possible([fault]).length))
  say(`SKIPPED  ${name}: ${missing ?? 'not here'}`)
const { faults, account, repeated, refused } = await runScenario({
  code: process.argv.includes('--source') ? 'source' : 'dist',
  faults: possible(wanted),
  perSecond: 20,
  calmMs: short ? 2_000 : 5_000,
  seed: Number(process.env['CHAOS_SEED'] ?? 1),
  say,
})

const { summaries, tests } = account.acknowledged
say(`${summaries} summaries and ${tests} test events acknowledged (${repeated} requests had to be repeated)`)
say(
  `${account.delivered} of ${account.deliveries} deliveries arrived; ended otherwise: ${JSON.stringify(account.ended)}`,
)
say(`${account.duplicates} arrived more than once, all around a fault; ${refused} had a wrong signature`)
for (const problem of account.problems) say(`PROBLEM  ${problem}`)
const slow = faults.filter(({ dispatchingAfterMs }) => dispatchingAfterMs > GOAL_MS)
for (const { name } of slow) say(`SLOW  ${name}`)
const lost = account.problems.length > 0 || refused > 0
say(lost ? 'something was lost' : 'nothing was lost')
process.exitCode = lost || slow.length > 0 ? 1 : 0
