import type { Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import { accountColumn, toUser, type AccountRow } from '../users/user-rows.js'
import type { User } from '../users/user.js'

export type UserListQuery = {
  aud: string
  /** Part of an email address or a full name; empty for all. */
  filter: string
  order: 'asc' | 'desc'
  offset: number
  limit: number
}

/** Run both methods as searches (`Db.search`). */
export class UserListStore {
  constructor(private readonly t: Tables) {}

  async list(tx: Tx, { aud, filter, order, offset, limit }: UserListQuery): Promise<User[]> {
    const where = filter === '' ? '' : `and ${matches('$4')}`
    // Finds the page first, so that identities and factors are read only for its rows.
    const { rows } = await tx.query<AccountRow>(
      `select ${accountColumn(this.t)} from ${this.t.users} u
       join (
         select u.id, row_number() over () as place from (
           select u.id from ${this.t.users} u where u.aud = $1 ${where}
           order by u.created_at ${order}, u.id ${order} offset $2 limit $3) u
       ) page on page.id = u.id
       order by page.place`,
      filter === '' ? [aud, offset, limit] : [aud, offset, limit, pattern(filter)],
    )
    return rows.map(toUser)
  }

  async count(tx: Tx, aud: string, filter: string): Promise<number> {
    const { rows } =
      filter === ''
        ? await tx.query<{ total: number }>(
            `select coalesce(sum(users), 0)::float8 as total from ${this.t.userCounts} where aud = $1`,
            [aud],
          )
        : await tx.query<{ total: number }>(
            `select count(*)::float8 as total from ${this.t.users} u
             where u.aud = $1 and ${matches('$2')}`,
            [aud, pattern(filter)],
          )
    return rows[0]?.total ?? 0
  }
}

const matches = (parameter: string): string =>
  `(u.email ilike ${parameter} or u.user_metadata ->> 'full_name' ilike ${parameter})`

const pattern = (filter: string): string => `%${filter.replace(/[\\%_]/g, '\\$&')}%`
