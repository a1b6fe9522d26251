type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Loops'?: number
  Plans?: PlanNode[]
}

/** The same as in `@signet/db`, on which this package does not depend. */
type Queryable = {
  query<R extends object = Record<string, unknown>>(
    text: string | { name: string; text: string },
    values?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number | null }>
}

export type PlanOptions = {
  /** Also executes each statement, so that only the indexes that were really read are listed. */
  analyze?: boolean
  /** Asks for the generic plan for any parameters, which PostgreSQL may choose for a named statement. */
  generic?: boolean
}

/**
 * How PostgreSQL runs each statement that `work` sends: the indexes of its plan, the tables it reads in full, and the indexes
 * it reads without a condition, which is as slow unless they are small.
 */
export async function plansOf(
  db: Queryable,
  work: (spy: Queryable) => Promise<unknown>,
  { analyze = false, generic = false }: PlanOptions = {},
): Promise<{ indexes: string[]; fullScans: string[]; fullIndexScans: string[] }> {
  const nodes: PlanNode[] = []
  const spy: Queryable = {
    async query<R extends object>(
      text: string | { name: string; text: string },
      values: readonly unknown[] = [],
    ) {
      const sql = typeof text === 'string' ? text : text.text
      const { rows } = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `explain (format json, analyze ${analyze}, generic_plan ${generic}) ${sql}`,
        generic ? [] : values,
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
    fullIndexScans: nodes.flatMap((node) =>
      node['Index Name'] && node['Index Cond'] === undefined ? [node['Index Name']] : [],
    ),
  }
}

/** A node that was analyzed and never ran has 0 loops. */
const isRead = (node: PlanNode) => node['Actual Loops'] !== 0

function collect(node: PlanNode | undefined, into: PlanNode[]): void {
  if (node === undefined) return
  into.push(node)
  for (const child of node.Plans ?? []) collect(child, into)
}
