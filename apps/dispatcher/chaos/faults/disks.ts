import { setTimeout as sleep } from 'node:timers/promises'
import { fillDisk, makeRoom } from '../machine.js'
import { untilInFlight, type Fault } from './fault.js'

export const fillRedisDisk = (seconds: number): Fault => ({
  name: `fill the disk of Redis for ${seconds} s`,
  needs: 'disks',
  // No lock can be extended.
  repeats: 'counted',
  async run({ disks }) {
    fillDisk(disks.redis)
    await sleep(seconds * 1000)
    makeRoom(disks.redis)
  },
})

/** The next file of the write-ahead log does not fit either, so PostgreSQL stops. An operator then makes room and starts it. */
export const fillPostgresDisk = (seconds: number): Fault => ({
  name: `fill the disk of PostgreSQL for ${seconds} s`,
  needs: 'disks',
  // PostgreSQL refuses results, which does not count as an outage.
  repeats: 'counted',
  async run(stack) {
    await untilInFlight(stack)
    fillDisk(stack.disks.postgres)
    const switching = stack.db.query('select pg_switch_wal()').catch(() => undefined)
    await sleep(seconds * 1000)
    await switching
    makeRoom(stack.disks.postgres)
    await stack.postgres.kill()
    await stack.postgres.startAgain()
  },
})
