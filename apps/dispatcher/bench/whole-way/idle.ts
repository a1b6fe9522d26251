import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, reporter } from '@signet/testkit/bench'
import type { Audience, Contender, Stage } from './stage.js'
import { warmUp } from './warm-up.js'

const tell = reporter('pipeline')

export const IDLE = 'first large event after ten idle minutes'

/**
 * Measures how much longer the first event of `bytes` takes than the one after it, when nothing has happened for a while. The raw limit,
 * measured after the product, shows how much of that any service has: new connections, and caches of the processor that forgot it.
 */
export async function measureIdle(
  stage: Stage,
  { audience, bytes, idleSeconds }: { audience: Audience; bytes: number; idleSeconds: number },
): Promise<void> {
  const system = await stage.system(audience)
  const raw = await stage.raw()
  for (const contender of [system, raw]) {
    await warmUp(contender)
    await contender.run({ bytes, events: 500 })
  }
  await sleep(idleSeconds * 1000)
  const [firstMs, secondMs] = await twoTimes(system, bytes)
  const [rawFirstMs, rawSecondMs] = await twoTimes(raw, bytes)
  tell({
    case: IDLE,
    value: firstMs,
    unit: 'ms',
    ...atMost(firstMs / secondMs, 2),
    others: { secondMs, rawFirstMs, rawSecondMs, idleSeconds },
  })
  await raw.stop()
  await system.stop()
}

async function twoTimes(contender: Contender, bytes: number): Promise<[number, number]> {
  const first = await contender.run({ bytes, events: 1 })
  const second = await contender.run({ bytes, events: 1 })
  return [first.p50Ms, second.p50Ms]
}
