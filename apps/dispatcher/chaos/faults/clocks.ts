import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosStack, ProcessName } from '../stack.js'
import type { Fault } from './fault.js'

const PROCESSES: readonly ProcessName[] = ['api', 'dispatcher-1', 'dispatcher-2']

/** Sets the clocks of the API and the dispatchers wrong for a while; that of PostgreSQL stays right. */
export const jumpClocks = (minutes: number, seconds: number): Fault => ({
  name: `clocks ${Math.abs(minutes)} minutes ${minutes < 0 ? 'slow' : 'fast'} for ${seconds} s`,
  repeats: 'never',
  async run(stack) {
    setClocks(stack, minutes)
    await sleep(seconds * 1000)
    setClocks(stack, 0)
  },
})

function setClocks(stack: ChaosStack, minutes: number): void {
  for (const name of PROCESSES) stack.setClock(name, minutes * 60_000)
}
