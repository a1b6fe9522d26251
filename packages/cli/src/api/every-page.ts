import { ServerFailureError } from '../errors.js'

type Page<Item> = { items: readonly Item[]; next_cursor: string }

/** Loads all pages and returns their entries. */
export async function everyPage<Item>(
  load: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<Item[]> {
  const found: Item[] = []
  const followed = new Set<string>()
  for (let cursor: string | undefined; cursor !== '';) {
    const page = await load(cursor)
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
