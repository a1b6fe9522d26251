import { expect, it } from '@jest/globals'
import { CpuLimit } from './conversion-limit.js'

/** The thread does nothing meanwhile, and not even other code of it runs. */
const sleepInThread = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

// Elsewhere the thread's CPU time is not known.
const onLinux = process.platform === 'linux' ? it : it.skip

onLinux('does not count time in which the thread has no CPU', () => {
  const limit = new CpuLimit(200)
  sleepInThread(300)
  expect(() => limit.check()).not.toThrow()
})
