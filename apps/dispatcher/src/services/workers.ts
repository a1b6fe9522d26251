import { createAttemptWorker } from '../attempts/attempt-worker.js'
import type { AttemptService } from '../attempts/attempt-service.js'
import { createDispatchWorker } from '../dispatching/dispatch-worker.js'
import type { EventService } from '../dispatching/event-service.js'
import type { PauseSwitch } from '../operations/pause-switch.js'
import type { WorkerConnection } from '../queues/queue-worker.js'
import { capacitiesOf, type Parts } from './parts.js'

type Work = { events: EventService; attempts: AttemptService }
export type Workers = ReturnType<typeof createWorkers>

/** Creates the worker of each queue. */
export function createWorkers(
  { config, queues, observer }: Parts,
  { events, attempts }: Work,
  { connection, pauseSwitch }: Pick<WorkerConnection, 'connection'> & { pauseSwitch: PauseSwitch },
) {
  const queue = { connection, prefix: config.queuePrefix }
  const ofBoth = { queue, observer, applyPause: () => pauseSwitch.apply() }
  const capacities = capacitiesOf(config)
  return {
    events: createDispatchWorker({ ...ofBoth, concurrency: capacities.events, events, queues }),
    deliveries: createAttemptWorker({ ...ofBoth, concurrency: capacities.jobs, attempts }),
  }
}
