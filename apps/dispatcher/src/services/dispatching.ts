import type { EventCatalogue } from '@signet/webhook-core'
import type { RecordingReader } from '@signet/webhook-core/stores'
import { AdmissionWindow } from '../dispatching/admission-window.js'
import { DispatchService } from '../dispatching/dispatch-service.js'
import { EventLimiter } from '../dispatching/event-limiter.js'
import { EventService } from '../dispatching/event-service.js'
import { FirstAttempts } from '../dispatching/first-attempts.js'
import { ConversionScheduler, type Convert } from '../preparing/conversion-scheduler.js'
import { PartsReader } from '../preparing/parts-reader.js'
import { Preparation } from '../preparing/preparation.js'
import type { Attempts } from './attempts.js'
import { capacitiesOf, type Parts } from './parts.js'

type DispatchingPorts = {
  convert: Convert
  reader?: RecordingReader | undefined
  catalogue?: EventCatalogue | undefined
}

/** Creates what takes events from the queue, prepares their bodies and makes their first attempts. */
export function createDispatching(
  parts: Parts,
  { attempts, bodies, lostRuns }: Pick<Attempts, 'attempts' | 'bodies' | 'lostRuns'>,
  ports: DispatchingPorts,
) {
  const { config, pools, queues, observer, retryWhileUnavailable, now } = parts
  const { db } = pools
  const capacities = capacitiesOf(config)
  const dispatch = new DispatchService({ db, bodies, retryWhileUnavailable, observer, now })
  const conversions = new ConversionScheduler({ jobs: capacities.jobs, convert: ports.convert })
  const preparation = new Preparation({
    parts: new PartsReader({
      db: pools.recordings,
      events: db,
      retryWhileUnavailable,
      onProblem: (problem) => observer.enrichmentFailed(problem),
      reader: ports.reader,
    }),
    conversions,
    catalogue: ports.catalogue,
  })
  const firstAttempts = new FirstAttempts({
    db,
    attempts,
    lostRuns,
    queues,
    bodies,
    retryWhileUnavailable,
    now,
  })
  const events = new EventService({
    limiter: new EventLimiter({ capacity: capacities.events }),
    admissionWindow: new AdmissionWindow({ min: config.concurrency, max: capacities.jobs }),
    dispatch,
    preparation,
    firstAttempts,
  })
  return { dispatch, conversions, preparation, firstAttempts, events }
}
