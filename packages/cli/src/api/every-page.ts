import { setTimeout as wait } from 'node:timers/promises'
import { InterruptedError, RateLimitedError, ServerFailureError } from '../errors.js'

type Page<Item> = { items: readonly Item[]; next_cursor: string }
type Person = {
  output: { note: (text: string) => void }
  interruption: () => AbortSignal
}

/** The limit of requests is for each minute. A service that asks to wait for longer has another reason. */
const LONGEST_WAIT_SECONDS = 120

/** Loads all pages and returns their entries. Waits when there are more pages than the service allows requests. */
export async function everyPage<Item>(
  person: Person,
  load: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<Item[]> {
  const found: Item[] = []
  const followed = new Set<string>()
  let interrupted: AbortSignal | undefined
  for (let cursor: string | undefined; cursor !== '';) {
    if (interrupted?.aborted) throw new InterruptedError()
    const page = await load(cursor).catch(async (error: unknown) => {
      interrupted = await waitAfter(error, found.length, person)
    })
    if (!page) continue
    found.push(...page.items)
    cursor = page.next_cursor
    if (followed.has(cursor))
      throw new ServerFailureError('The service answered with the same page again', {
        hint: 'Such a list has no end. Check the address: --url or SIGNET_URL.',
      })
    followed.add(cursor)
  }
  return found
}

/** Waits as long as the service asked to, or until the person interrupts. */
async function waitAfter(
  error: unknown,
  count: number,
  { output, interruption }: Person,
): Promise<AbortSignal> {
  if (!(error instanceof RateLimitedError) || error.retryAfterSeconds > LONGEST_WAIT_SECONDS) throw error
  const { message, retryAfterSeconds: seconds } = error
  output.note(`${message}. Going on in ${seconds} s, with ${count} read so far.`)
  const signal = interruption()
  await wait(seconds * 1000, undefined, { signal }).catch(() => undefined)
  return signal
}
