import type { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'

/** Checks which jobs exist. Finished jobs are removed at once, so a job that exists has work left. */
export class JobPresence {
  constructor(private readonly connection: Redis | Cluster) {}

  /** Returns the `rows` that have no job in `queue`. */
  async missing<Row>(
    queue: Pick<Queue, 'toKey'>,
    rows: readonly Row[],
    jobId: (row: Row) => string,
  ): Promise<Row[]> {
    if (rows.length === 0) return []
    const pipeline = this.connection.pipeline()
    for (const row of rows) pipeline.exists(queue.toKey(jobId(row)))
    const answers = (await pipeline.exec()) ?? []
    const failed = answers.find(([error]) => error)?.[0]
    if (failed) throw failed
    return rows.filter((_, index) => answers[index]?.[1] === 0)
  }
}
