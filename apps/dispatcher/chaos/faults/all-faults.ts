import { jumpClocks } from './clocks.js'
import {
  emptyRedis,
  freezeDispatcher,
  killApi,
  killBeforeAnyResults,
  killBeforeFirstResults,
  killBeforeResults,
  killConversionThreads,
  killDispatcher,
  killPostgres,
  killRedis,
  killWhilePreparing,
} from './crashes.js'
import { fillPostgresDisk, fillRedisDisk } from './disks.js'
import { failOverPostgres, failOverRedis } from './failover.js'
import type { Fault } from './fault.js'
import { cutPostgres, cutRedis, loseEveryPacket, loseSomePackets } from './network.js'
import { mixVersions } from './roll-out.js'

/** `beside`: a compiled checkout of another version. */
export const allFaults = (beside: string | undefined): readonly Fault[] => [
  killDispatcher('dispatcher-1'),
  killWhilePreparing,
  killConversionThreads,
  killBeforeFirstResults,
  killBeforeResults,
  killApi,
  killRedis({ empty: true }),
  killRedis({ empty: false }),
  emptyRedis,
  killPostgres,
  cutRedis(30),
  cutPostgres(30),
  freezeDispatcher('dispatcher-2', 20),
  killDispatcher('dispatcher-2'),
  fillRedisDisk(15),
  fillPostgresDisk(15),
  loseSomePackets(5, 30),
  loseEveryPacket(20),
  jumpClocks(10, 20),
  jumpClocks(-10, 20),
  mixVersions(beside, 20),
  failOverPostgres,
  failOverRedis,
]

/** The faults that fit into a test run: every kind of loss once, without the long waits. Those that explain no repeat come first. */
export const shortFaults: readonly Fault[] = [
  killApi,
  killPostgres,
  killBeforeAnyResults,
  killRedis({ empty: true }),
]
