import { databaseNow } from '@signet/db'
import type { BacklogCanceller } from '../attempts/backlog-canceller.js'
import type { PauseSwitch } from '../operations/pause-switch.js'
import { RedisWatch, type RedisWatchDeps } from '../queues/redis-watch.js'
import { Recoverer } from '../recovering/recoverer.js'
import { Retention } from '../retention/retention.js'
import { Sweeper } from '../sweeping/sweeper.js'
import type { Parts } from './parts.js'
import type { Workers } from './workers.js'

type UpkeepDeps = Pick<RedisWatchDeps, 'connection'> & {
  canceller: BacklogCanceller
  pauseSwitch: PauseSwitch
  workers: Workers
}

/** Creates what runs from time to time: it finds lost work, redelivers what owners want again, and deletes what is old. */
export function createUpkeep(parts: Parts, { connection, canceller, pauseSwitch, workers }: UpkeepDeps) {
  const { config, pools, queues, presence, observer, now } = parts
  const { db } = pools
  const sweeper = new Sweeper({
    db,
    queues,
    presence,
    canceller,
    pauseSwitch,
    onStray: (name) => workers[name].lookForStrays(),
    observer,
    now,
  })
  const redisWatch = new RedisWatch({
    connection,
    key: `${config.queuePrefix}:marker`,
    now,
    onRecovered: (outage) => {
      if (outage.wasEmptied) observer.redisEmptied()
      sweeper.redisRecovered(outage)
    },
  })
  return {
    sweeper,
    redisWatch,
    recoverer: new Recoverer({ db, queues, observer, databaseNow }),
    retention: new Retention({ db, observer, databaseNow }),
  }
}
