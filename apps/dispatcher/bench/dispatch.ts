// `npm run bench -- dispatch`: compares the dispatcher with sending alone and with BullMQ alone. One JSON line per result; how to
// read them: docs/bench.md. Options: rounds=5, only=<regular expression of case names>, rows=5000000 (finished deliveries that
// `growth` adds: 50,000,000 need 40 GB of disk and an hour), profile=<folder>. `list` prints the cases:
import { measureGrowth } from './growth.js'
import { measureHanging, measureLatency } from './latency.js'
import { option, rounds } from '@signet/testkit/bench'
import { setStage, type Stage } from './stage.js'
import { measureThousand, measureThroughput, throughputCases } from './throughput.js'

type Run = (stage: Stage, rounds: number) => Promise<void>

const cases: Readonly<Record<string, Run>> = {
  ...Object.fromEntries(
    throughputCases.map((one): [string, Run] => [
      one.name,
      (stage, rounds) => measureThroughput(stage, one, rounds),
    ]),
  ),
  'fan-out': measureThousand,
  latency: measureLatency,
  hanging: measureHanging,
  growth: (stage, rounds) => measureGrowth(stage, rounds, rows),
}

const rows = Number(option('rows') ?? 5_000_000)
const only = new RegExp(option('only') ?? '.')
const chosen = Object.entries(cases).filter(([name]) => only.test(name))

if (process.argv.includes('list')) console.log(Object.keys(cases).join('\n'))
else {
  const stage = await setStage({
    databaseUrl: process.env['DATABASE_URL'] ?? '',
    redisUrl: process.env['REDIS_URL'] ?? '',
    profileFolder: option('profile'),
  })
  try {
    for (const [, run] of chosen) await run(stage, rounds())
  } finally {
    await stage.close()
  }
}
