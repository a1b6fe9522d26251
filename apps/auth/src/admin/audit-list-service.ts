import type { Db } from '@signet/db'
import { invalid } from '../errors/auth-error.js'
import { isAuditScope, type AuditEntry, type AuditListStore, type AuditSearch } from './audit-list-store.js'
import type { Page } from './paging.js'

type Deps = { db: Db; entries: AuditListStore }

/** The most entries that are counted, unless the page ends later. Counting all of them would read a long log from end to end. */
const COUNTED = 10_000

/** GET /admin/audit (docs/specification.md#lists). */
export class AuditListService {
  constructor(private readonly deps: Deps) {}

  /**
   * A page of entries and their number. If there are more than are counted, that number is too small, but larger than where the page ends.
   */
  async list(query: string, page: Page): Promise<{ entries: AuditEntry[]; total: number }> {
    const { db, entries } = this.deps
    const search = parse(query)
    const [rows, total] = await Promise.all([
      db.search((tx) => entries.list(tx, search, (page.number - 1) * page.size, page.size)),
      db.search((tx) => entries.count(tx, search, Math.max(COUNTED, page.number * page.size + 1))),
    ])
    return { entries: rows, total }
  }

  newest(query: string, limit: number): Promise<AuditEntry[]> {
    const { db, entries } = this.deps
    return db.search((tx) => entries.list(tx, parse(query), 0, limit))
  }
}

/** `query` is `<author|action|type>:<substring>`, or empty for everything. */
function parse(query: string): AuditSearch {
  if (query === '') return null
  const at = query.indexOf(':')
  const scope = query.slice(0, at)
  if (at === -1 || !isAuditScope(scope)) throw invalid(`Invalid query scope, use author, action or type`)
  return { scope, text: query.slice(at + 1) }
}
