import { setTimeout as sleep } from 'node:timers/promises'
import { untilInFlight, type Fault } from './fault.js'

/** Rolls another version out and back: for a while two versions share the queue and the tables, which are those of this version. */
export const mixVersions = (root: string | undefined, seconds: number): Fault => ({
  name: `dispatcher-2 is of another version for ${seconds} s`,
  needs: 'another version',
  // A dispatcher that is asked to stop finishes what it has begun.
  repeats: 'never',
  async run(stack) {
    for (const version of [root, undefined]) {
      await untilInFlight(stack)
      await stack.process('dispatcher-2').stop(30_000)
      await stack.start('dispatcher-2', version)
      if (version !== undefined) await sleep(seconds * 1000)
    }
  },
})
