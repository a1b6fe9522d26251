// `npm run bench -- dispatch [rounds=5] [only=<regular expression>]`: one JSON line per result (issue 5, point 7).
import { measureGrowth } from './growth.js'
import { measureHanging, measureLatency } from './latency.js'
import { setStage } from './stage.js'
import { measureThroughput } from './throughput.js'

const option = (name: string, fallback: string) =>
  process.argv.find((argument) => argument.startsWith(`${name}=`))?.slice(name.length + 1) ?? fallback
const rounds = Number(option('rounds', '5'))
const only = new RegExp(option('only', '.'))

const stage = await setStage(process.env['DATABASE_URL'] ?? '', process.env['REDIS_URL'] ?? '')
try {
  const peak = await measureThroughput(stage, rounds, only)
  if (only.test('latency')) await measureLatency(stage, peak)
  if (only.test('hanging')) await measureHanging(stage)
  if (only.test('growth')) await measureGrowth(stage, rounds)
} finally {
  stage.close()
}
