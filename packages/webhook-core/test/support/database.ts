import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from '@jest/globals'
import { Db, migrate, type Queryable } from '@signet/db'
import { createTestDatabase, migrationsKey, type TestDatabase } from '@signet/testkit'

const directory = fileURLToPath(new URL('../../../../apps/webhooks/migrations', import.meta.url))

/** The webhooks schema in a database of this file's own. The object is usable from the first `beforeAll` on. */
export function useDatabase({ connections = 25 } = {}): { readonly db: Db } {
  let database: TestDatabase | undefined
  let db: Db | undefined
  beforeAll(async () => {
    database = await createTestDatabase({
      key: migrationsKey('webhooks', directory),
      migrate: async (databaseUrl) => {
        await migrate({ databaseUrl, directory, table: 'migrations' })
      },
    })
    db = new Db({ connectionString: database.url, max: connections })
  })
  afterAll(async () => {
    await db?.close()
    await database?.drop()
  })
  return {
    get db() {
      if (db === undefined) throw new Error('the database is there from beforeAll on')
      return db
    },
  }
}

type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Loops'?: number
  Plans?: PlanNode[]
}

/**
 * How PostgreSQL runs each statement that `work` sends: the indexes of its plan and the tables it reads in full. With
 * `analyze` the statement is run once more for it, and the indexes are those that were really read.
 */
export async function plansOf(
  db: Queryable,
  work: (spy: Queryable) => Promise<unknown>,
  { analyze = false } = {},
): Promise<{ indexes: string[]; fullScans: string[] }> {
  const nodes: PlanNode[] = []
  const spy: Queryable = {
    async query<R extends object>(
      text: string | { name: string; text: string },
      values: readonly unknown[] = [],
    ) {
      const sql = typeof text === 'string' ? text : text.text
      const { rows } = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `explain (format json, analyze ${analyze}) ${sql}`,
        values,
      )
      collect(rows[0]?.['QUERY PLAN'][0]?.Plan, nodes)
      return db.query<R>(text, values)
    },
  }
  await work(spy)
  return {
    indexes: [...new Set(nodes.flatMap((node) => (isRead(node) && node['Index Name']) || []))].sort(),
    fullScans: nodes.flatMap((node) =>
      node['Node Type'] === 'Seq Scan' && node['Relation Name'] ? [node['Relation Name']] : [],
    ),
  }
}

/** A part of a plan that had nothing to do has no loops. */
const isRead = (node: PlanNode) => node['Actual Loops'] !== 0

function collect(node: PlanNode | undefined, into: PlanNode[]): void {
  if (node === undefined) return
  into.push(node)
  for (const child of node.Plans ?? []) collect(child, into)
}
