import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, reporter } from '@signet/testkit/bench'
import type { Audience, Stage } from './stage.js'

const tell = reporter('pipeline')

export const IDLE = 'first large event after ten idle minutes'

/** Measures how much longer the first event of `bytes` takes than the one after it, when nothing has happened for a while. */
export async function measureIdle(
  stage: Stage,
  { audience, bytes, idleSeconds }: { audience: Audience; bytes: number; idleSeconds: number },
): Promise<void> {
  const system = await stage.system(audience)
  await system.run({ bytes, events: 50 })
  await sleep(idleSeconds * 1000)
  const first = await system.run({ bytes, events: 1 })
  const second = await system.run({ bytes, events: 1 })
  tell({
    case: IDLE,
    value: first.p50Ms,
    unit: 'ms',
    ...atMost(first.p50Ms / second.p50Ms, 2),
    others: { secondMs: second.p50Ms, idleSeconds },
  })
  await system.stop()
}
