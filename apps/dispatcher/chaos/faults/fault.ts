import { setTimeout as sleep } from 'node:timers/promises'
import type { Repeats } from '../accounts.js'
import type { Part } from '../machine.js'
import type { ChaosStack } from '../stack.js'

export type Fault = {
  name: string
  /** What the run must have to itself, or be given. */
  needs?: Part | 'another version'
  /** From its begin until jobs that it lost are handed out again. */
  repeats: Repeats
  /** How long after its end connections may still wait, in milliseconds; 0 by default. */
  lingersMs?: number
  /** Happens to a Redis with a replica and sentinels, in a run of its own. */
  watched?: boolean
  /** Resolves when the fault is over, that is when everything runs and is connected again. */
  run(stack: ChaosStack): Promise<void>
}

export const DISPATCHERS = ['dispatcher-1', 'dispatcher-2'] as const

export const untilInFlight = async ({ receiver }: ChaosStack): Promise<void> => {
  for (const deadline = Date.now() + 30_000; receiver.open < 2; await sleep(2))
    if (Date.now() > deadline) throw new Error('nothing is being delivered')
}
