import { setTimeout as sleep } from 'node:timers/promises'
import type { Repeats } from '../accounts.js'
import type { Part } from '../machine.js'
import type { ChaosStack } from '../stack.js'

export type Fault = {
  name: string
  /** The part that the run must have to itself, or the other version that it must get. */
  needs?: Part | 'another version'
  /** Whether requests may be repeated, from the fault's start until the jobs that it lost are handed out again. */
  repeats: Repeats
  /** How long connections may still wait after the fault's end, in milliseconds; 0 by default. */
  lingersMs?: number
  /** Needs a Redis with a replica and sentinels, so it happens in a separate run. */
  watched?: boolean
  /** Resolves when the fault is over: everything runs and is connected again. */
  run(stack: ChaosStack): Promise<void>
}

export const DISPATCHERS = ['dispatcher-1', 'dispatcher-2'] as const

export const untilInFlight = async ({ receiver }: ChaosStack): Promise<void> => {
  for (const deadline = deadlineOf(); receiver.open < 2; await sleep(2))
    if (Date.now() > deadline) throw new Error('nothing is being delivered')
}

/** Only ends a wait for something that never happens: on a busy machine, everything may take many times as long as usual. */
export const deadlineOf = (): number => Date.now() + 150_000
