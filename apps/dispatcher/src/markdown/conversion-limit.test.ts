import { expect, it } from '@jest/globals'
import { CpuLimit } from './conversion-limit.js'

/** Blocks the thread without using CPU time: no other code runs in it meanwhile. */
const sleepInThread = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

// The thread's CPU time is known only on Linux.
const onLinux = process.platform === 'linux' ? it : it.skip

onLinux('does not count time in which the thread has no CPU', () => {
  const limit = new CpuLimit(200)
  sleepInThread(300)
  expect(() => limit.check()).not.toThrow()
})
