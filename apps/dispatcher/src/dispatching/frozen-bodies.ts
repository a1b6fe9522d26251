import { isUnavailable, type Db } from '@signet/db'
import {
  BodyBuilder,
  type FrozenEvent,
  type MarkdownConverter,
  type MirrorReader,
  type PayloadProblem,
  type QueuedEvent,
} from '@signet/webhook-core'

export type FrozenBodiesDeps = {
  /** For the mirror alone, with the time limit of enrichment on its server. */
  db: Pick<Db, 'until'>
  markdown: Pick<MarkdownConverter, 'convert'>
  patiently: <T>(work: () => Promise<T>) => Promise<T>
  onProblem: (problem: PayloadProblem) => void
  /** Replaced in tests to make one part fail. */
  reader?: MirrorReader
}

/**
 * Builds bodies to be frozen. A part that cannot be read is left out for good (contract F.2), so an outage of the whole
 * database must not look like that: then the build starts again when it is back.
 */
export function frozenBodies({ db, markdown, patiently, onProblem, reader }: FrozenBodiesDeps) {
  return async (events: readonly QueuedEvent[]): Promise<readonly FrozenEvent[]> => {
    if (events.length === 0) return []
    return patiently(async () => {
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
