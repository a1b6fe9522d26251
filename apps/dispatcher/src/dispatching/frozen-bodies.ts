import { isUnavailable, type Db } from '@signet/db'
import type { RecordingReader } from '@signet/webhook-core/stores'
import type { FrozenEvent, QueuedEvent } from '../events/event-store.js'
import { BodyBuilder, type PayloadProblem } from '../bodies/body-builder.js'
import type { MarkdownConverter } from '../bodies/markdown-converter.js'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'

export type FrozenBodiesDeps = {
  /** Reads only recordings, with the time limit of enrichment as its `statement_timeout`. */
  db: Pick<Db, 'until'>
  markdown: Pick<MarkdownConverter, 'convert'>
  retryWhileUnavailable: RetryWhileUnavailable
  onProblem: (problem: PayloadProblem) => void
  /** Tests replace it to make one part fail. */
  reader?: RecordingReader
}

/**
 * Builds the bodies to freeze. A part that cannot be read is missing for good, so an outage of the whole database must not
 * count as one: the build starts over when the database is back.
 */
export function frozenBodies({ db, markdown, retryWhileUnavailable, onProblem, reader }: FrozenBodiesDeps) {
  return async (events: readonly QueuedEvent[]): Promise<readonly FrozenEvent[]> => {
    if (events.length === 0) return []
    return retryWhileUnavailable(async () => {
      const problems: PayloadProblem[] = []
      const builder = new BodyBuilder({
        db,
        markdown,
        reader,
        onProblem: (problem) => problems.push(problem),
      })
      const bodies = await builder.build(events)
      const outage = problems.find(({ error }) => isUnavailable(error))
      if (outage) throw outage.error
      problems.forEach(onProblem)
      return bodies
    })
  }
}
