// `npm run bench -- pipeline [rounds=5] [scale=1] [only=<regular expression of case names>] [beside=<folder>] [peer=<module>]
// [authority=<folder>] [profile=<folder>] [list]`: `scale` multiplies how many events a case has; `peer`, which may be repeated,
// names another product to measure (peer.ts), and `authority` keeps the certificates that it has to trust. The whole way that a user sees, from a notice over HTTP to its arrival at an HTTPS receiver, against the raw limit
// (raw-process.ts) and, with `beside`, against a checkout of another version, packages installed and compiled. One JSON line
// per result.
import { fileURLToPath } from 'node:url'
import { atLeast, atMost, median, report, type Result } from '../results.js'
import { loadPeer } from './peer.js'
import { Stage, type Audience, type Contender, type Load, type Run } from './stage.js'

const KIB = 1024
const ONE_TO_ONE: Audience = { accounts: 10, endpoints: 1 }

type Goals = { ofRaw?: number; ofBeside?: number; cpuOfBeside?: number; p50Ms?: number; p99Ms?: number }
type Case = { name: string; audience?: Audience; load: Load; goals: Goals }

const cases: readonly Case[] = [
  {
    name: 'burst 2 KiB',
    load: { bytes: 2 * KIB, events: 8000 },
    goals: { ofRaw: 0.6, ofBeside: 2.6, cpuOfBeside: 0.35 },
  },
  ...[200, 500, 1000].map((perSecond) => ({
    name: `steady ${perSecond}/s`,
    load: { bytes: 2 * KIB, events: perSecond * 6, perSecond },
    goals: perSecond === 500 ? { p50Ms: 15, p99Ms: 60 } : {},
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

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`${name}=`))?.slice(name.length + 1)
const rounds = Number(option('rounds') ?? 5)
const only = new RegExp(option('only') ?? '.')
const scale = Number(option('scale') ?? 1)
const beside = option('beside')
const peers = await Promise.all(
  process.argv
    .flatMap((argument) => /^peer=(.+)/.exec(argument)?.[1] ?? [])
    .map(async (file) => ({ file, peer: await loadPeer(file) })),
)

const tell = (result: Result) => report(result, 'pipeline')

/** All contenders in turns; a first round warms up everybody and is not counted. */
async function measure(stage: Stage, { name, audience = ONE_TO_ONE, goals, ...rest }: Case): Promise<void> {
  const load = { ...rest.load, events: Math.max(1, Math.round(rest.load.events * scale)) }
  const contenders: Record<string, Contender> = { signet: await stage.system(audience) }
  if (audience.endpoints === 1) contenders['raw limit'] = await stage.raw()
  if (beside !== undefined) contenders['beside'] = await stage.system(audience, beside)
  for (const { peer, file } of peers) contenders[peer.name] = await stage.peer(audience, peer, file)
  const measured: Record<string, Run>[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const runs: Record<string, Run> = {}
    for (const [who, contender] of Object.entries(contenders)) runs[who] = await contender.run(load)
    if (round > 0) measured.push(runs)
  }
  const middle = (who: string, pick: (run: Run) => number) =>
    median(measured.map((runs) => pick(runs[who] as Run)))
  const ratio = (to: string, pick: (run: Run) => number) =>
    median(measured.map((runs) => pick(runs['signet'] as Run) / pick(runs[to] as Run)))
  for (const who of Object.keys(contenders)) {
    const parts = Object.keys(measured[0]?.[who]?.cpuUsOf ?? {})
    const others = {
      ...Object.fromEntries(
        parts.map((name) => [`cpuUs of ${name}`, Math.round(middle(who, (run) => run.cpuUsOf[name] ?? NaN))]),
      ),
      // Of a peer that names no processes it is not known.
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

if (process.argv.includes('list')) console.log([...cases.map(({ name }) => name), MEMORY].join('\n'))
else {
  const stage = await Stage.set({
    databaseUrl: process.env['DATABASE_URL'] ?? '',
    redisUrl: process.env['REDIS_URL'] ?? '',
    root: fileURLToPath(new URL('../../../..', import.meta.url)),
    profileFolder: option('profile'),
    authorityFolder: option('authority'),
  })
  for (const { peer } of peers)
    console.log(JSON.stringify({ bench: 'pipeline', who: peer.name, settings: peer.settings }))
  try {
    for (const one of cases.filter(({ name }) => only.test(name))) await measure(stage, one)
    if (only.test(MEMORY)) await measureMemory(stage)
  } finally {
    await stage.close()
  }
}
