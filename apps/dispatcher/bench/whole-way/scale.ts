import { atLeast, atMost, median, reporter } from '@signet/testkit/bench'
import type { Audience, Load, Stage } from './stage.js'

const tell = reporter('pipeline')

export const SCALE = '1, 2 and 3 dispatchers'
const MOST_DISPATCHERS = 3

/** Measures bursts with one more dispatcher each time: what another one adds, and how they share the work. */
export async function measureScale(
  stage: Stage,
  { audience, load, rounds }: { audience: Audience; load: Load; rounds: number },
): Promise<void> {
  const system = await stage.system(audience)
  let alone = NaN
  for (let dispatchers = 1; dispatchers <= MOST_DISPATCHERS; dispatchers += 1) {
    if (dispatchers > 1) await system.addDispatcher()
    await system.run(load) // warms up the new one
    const before = await system.attempts()
    const speeds: number[] = []
    for (let round = 0; round < rounds; round += 1) speeds.push((await system.run(load)).perSecond)
    const made = (await system.attempts()).map((attempts, n) => attempts - (before[n] ?? 0))
    const value = median(speeds)
    const name = `${dispatchers} dispatchers`
    if (dispatchers === 1) {
      alone = value
      tell({ case: '1 dispatcher', value, unit: '1/s' })
      continue
    }
    // On two cores there is no CPU left for a second process: it need not be faster, but must not cost much.
    tell({ case: `${name}: of one`, value, unit: '1/s', ...atLeast(value / alone, 0.8) })
    const largest = Math.max(...made) / made.reduce((sum, attempts) => sum + attempts, 0)
    tell({
      case: `${name}: largest share`,
      value: Math.max(...made),
      unit: '1',
      ...atMost(largest, Math.round(110 / dispatchers) / 100),
    })
  }
  await system.stop()
}
