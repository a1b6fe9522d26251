// `npm run bench -- pipeline`: the whole way that a user sees, from a notice over HTTP to its arrival at an HTTPS receiver, against
// the raw limit (raw-process.ts). One JSON line per result. Options: rounds=5, scale=1 (of how many events a case has),
// only=<regular expression of case names>, beside=<folder> (a checkout of another version, packages installed and compiled),
// peer=<module> (another product to measure, see peer.ts; may be repeated), authority=<folder> (keeps the certificates that a
// peer has to trust), profile=<folder>, idle=600 (seconds). `list` prints the cases:
import { fileURLToPath } from 'node:url'
import { atLeast, atMost, inTurns, median, option, reporter, rounds } from '@signet/testkit/bench'
import { IDLE, measureIdle } from './idle.js'
import { loadPeer } from './peer.js'
import { measureOthers, OTHERS } from './others.js'
import { measureScale, SCALE } from './scale.js'
import { Stage, type Audience, type Contender, type Load, type Run } from './stage.js'
import { warmUp } from './warm-up.js'

const KIB = 1024
const ONE_TO_ONE: Audience = { accounts: 10, endpoints: 1 }

type Goals = {
  perSecond?: number
  ofRaw?: number
  ofBeside?: number
  cpuOfBeside?: number
  p50Ms?: number
  p99Ms?: number
}
type Case = { name: string; audience?: Audience; load: Load; goals: Goals }

const cases: readonly Case[] = [
  {
    name: 'burst 2 KiB',
    load: { bytes: 2 * KIB, events: 20_000 },
    goals: { ofRaw: 0.6, ofBeside: 2.6, cpuOfBeside: 0.35 },
  },
  ...[200, 500, 1000].map((perSecond) => ({
    name: `steady ${perSecond}/s`,
    load: { bytes: 2 * KIB, events: perSecond * 6, perSecond },
    // The goal is to keep up with this rate, less what a pause at the end of the load costs.
    goals: { perSecond: 0.97 * perSecond, ...(perSecond === 500 && { p50Ms: 15, p99Ms: 60 }) },
  })),
  {
    name: '1 event to 5 endpoints',
    audience: { accounts: 10, endpoints: 5 },
    load: { bytes: 2 * KIB, events: 2000 },
    goals: { ofBeside: 1.3 },
  },
  {
    name: '1 event to 50 endpoints',
    audience: { accounts: 2, endpoints: 50 },
    load: { bytes: 2 * KIB, events: 200 },
    goals: { ofBeside: 1.3 },
  },
  {
    name: '100 KiB',
    load: { bytes: 100 * KIB, events: 1000 },
    goals: { ofBeside: 3.4, cpuOfBeside: 0.4 },
  },
  { name: '1 MiB', load: { bytes: 1023 * KIB, events: 150 }, goals: { ofRaw: 0.8 } },
]
const MEMORY = 'memory'

const only = new RegExp(option('only') ?? '.')
const scale = Number(option('scale') ?? 1)
const beside = option('beside')
const peers = await Promise.all(
  process.argv
    .flatMap((argument) => /^peer=(.+)/.exec(argument)?.[1] ?? [])
    .map(async (file) => ({ file, peer: await loadPeer(file) })),
)

const tell = reporter('pipeline')

/** Runs all contenders in turns. A warm-up and a first round of each do not count. */
async function measure(stage: Stage, { name, audience = ONE_TO_ONE, goals, ...rest }: Case): Promise<void> {
  const load = { ...rest.load, events: Math.max(1, Math.round(rest.load.events * scale)) }
  const contenders: Record<string, Contender> = { signet: await stage.system(audience) }
  if (audience.endpoints === 1) contenders['raw limit'] = await stage.raw()
  if (beside !== undefined) contenders['beside'] = await stage.system(audience, beside)
  for (const { peer, file } of peers) contenders[peer.name] = await stage.peer(audience, peer, file)
  for (const contender of Object.values(contenders)) await warmUp(contender, audience.endpoints)
  const runs = Object.values(contenders).map((contender) => () => contender.run(load))
  const seen = await inTurns(runs)
  const runsOf = (who: string): Run[] => seen[Object.keys(contenders).indexOf(who)] ?? []
  const middle = (who: string, pick: (run: Run) => number) => median(runsOf(who).map(pick))
  const ratio = (to: string, pick: (run: Run) => number) =>
    median(runsOf('signet').map((run, round) => pick(run) / pick(runsOf(to)[round] as Run)))
  for (const who of Object.keys(contenders)) {
    const parts = Object.keys(runsOf(who)[0]?.cpuUsOf ?? {})
    const others = {
      ...Object.fromEntries(
        parts.map((name) => [`cpuUs of ${name}`, Math.round(middle(who, (run) => run.cpuUsOf[name] ?? NaN))]),
      ),
      // Unknown for a peer that names no processes.
      ...(parts.length > 0 && { cpuUs: Math.round(middle(who, (run) => run.cpuUs)) }),
      p50Ms: Math.round(middle(who, (run) => run.p50Ms)),
      p99Ms: Math.round(middle(who, (run) => run.p99Ms)),
    }
    tell({ case: name, who, value: middle(who, (run) => run.perSecond), unit: '1/s', others })
  }
  const speed = (run: Run) => run.perSecond
  const ours = { case: name, value: middle('signet', speed), unit: '1/s' }
  if (goals.ofRaw !== undefined)
    tell({ ...ours, case: `${name}: of the raw limit`, ...atLeast(ratio('raw limit', speed), goals.ofRaw) })
  if (beside !== undefined && goals.ofBeside !== undefined)
    tell({ ...ours, case: `${name}: of beside`, ...atLeast(ratio('beside', speed), goals.ofBeside) })
  if (goals.perSecond !== undefined)
    tell({
      ...ours,
      case: `${name}: held`,
      goal: `>= ${goals.perSecond}`,
      ok: ours.value >= goals.perSecond,
    })
  const cpu = { value: middle('signet', (run) => run.cpuUs), unit: 'us' }
  if (beside !== undefined && goals.cpuOfBeside !== undefined)
    tell({
      case: `${name}: CPU of beside`,
      ...cpu,
      ...atMost(
        ratio('beside', (run) => run.cpuUs),
        goals.cpuOfBeside,
      ),
    })
  for (const key of ['p50Ms', 'p99Ms'] as const) {
    const [goal, value] = [goals[key], middle('signet', (run) => run[key])]
    if (goal !== undefined)
      tell({ case: `${name}: ${key}`, value, unit: 'ms', goal: `<= ${goal}`, ok: value <= goal })
  }
  for (const contender of Object.values(contenders)) await contender.stop()
}

const MEMORY_GOALS: Readonly<Record<string, number>> = { webhooks: 160, dispatcher: 250 }

async function measureMemory(stage: Stage): Promise<void> {
  const system = await stage.system(ONE_TO_ONE)
  await system.run({ bytes: 2 * KIB, events: Math.round(100_000 * scale) })
  for (const [app, value] of Object.entries(system.memoryMib())) {
    const goal = MEMORY_GOALS[app] ?? NaN
    tell({
      case: `memory of apps/${app} after 100,000 events`,
      value,
      unit: 'MiB',
      goal: `<= ${goal}`,
      ok: value <= goal,
    })
  }
  await system.stop()
}

if (process.argv.includes('list'))
  console.log([...cases.map(({ name }) => name), MEMORY, SCALE, OTHERS, IDLE].join('\n'))
else {
  const redisUrl = process.env['REDIS_URL'] ?? ''
  const stage = await Stage.set({
    databaseUrl: process.env['DATABASE_URL'] ?? '',
    redisUrl,
    root: fileURLToPath(new URL('../../../..', import.meta.url)),
    profileFolder: option('profile'),
    authorityFolder: option('authority'),
  })
  for (const { peer } of peers)
    console.log(JSON.stringify({ bench: 'pipeline', who: peer.name, settings: peer.settings }))
  try {
    for (const one of cases.filter(({ name }) => only.test(name))) await measure(stage, one)
    if (only.test(MEMORY)) await measureMemory(stage)
    const load = { bytes: 2 * KIB, events: Math.round(8000 * scale) }
    if (only.test(SCALE)) await measureScale(stage, { audience: ONE_TO_ONE, load, rounds: rounds() })
    if (only.test(OTHERS)) await measureOthers(stage, { redisUrl, scale })
    const idleSeconds = Number(option('idle') ?? 600)
    if (only.test(IDLE)) await measureIdle(stage, { audience: ONE_TO_ONE, bytes: 100 * KIB, idleSeconds })
  } finally {
    await stage.close()
  }
}
