import { setTimeout as sleep } from 'node:timers/promises'

/** Rows that a sweep reads at once. */
export const PAGE = 1000
/** Pause between pages without lost work, so that scanning a long backlog stays in the background. */
const PAUSE_MS = 50

/** Reads page after page, the next one from behind the last row, until the last page or `stop`. Returns the sum of what `handle` found. */
export async function eachPage<Row>(
  read: (after: Row | undefined) => Promise<Row[]>,
  handle: (page: Row[]) => Promise<number>,
  stop: AbortSignal,
): Promise<number> {
  let found = 0
  let after: Row | undefined
  while (!stop.aborted) {
    const page = await read(after)
    const lost = await handle(page)
    found += lost
    if (page.length < PAGE) break
    after = page.at(-1)
    if (lost === 0) await sleep(PAUSE_MS)
  }
  return found
}
