import type { Request } from 'express'

/** An answer in the form of Bull Board's own, whose page shows it. */
export type Refusal = { status: 400 | 404; body: object }

/** Queues, statuses and numbers. */
const VALUE = /^[\w.,:-]{0,100}$/
/** Upper limits of parameters that become ranges of Redis commands, which take 64 bits at most, or numbers of jobs in memory. */
const MOST: ReadonlyMap<string, number> = new Map([
  ['page', 1e9],
  ['jobsPerPage', 1000],
  ['depth', 1000],
  ['maxChildren', 1000],
])

/** Routes of a queue, some of which have a word in place of a job id. */
const OF_JOB = /^\/api\/queues\/[^/]+\/([^/]+)(\/logs|\/flow)?\/?$/i
const OF_QUEUE = new Set(['metrics', 'default-job-options', 'workers', 'rate-limit', 'job-data-schema'])
/** Job ids that `webhook-core` makes. Any other may be one of BullMQ's own keys, which are not jobs. */
const JOB_ID = /^[a-z]+_\w+$/

/**
 * Refuses requests that Bull Board would answer with an internal error, because it passes parameters on to decoders and Redis commands
 * that fail for some of them. Undefined if Bull Board may answer.
 */
export function refusalOf({
  method,
  path,
  query,
}: Pick<Request, 'method' | 'path' | 'query'>): Refusal | undefined {
  if (!/^\/api\//i.test(path) || !['GET', 'HEAD'].includes(method)) return undefined
  const [field] = Object.entries(query).find(([name, value]) => !isValid(name, value)) ?? []
  if (field !== undefined) return invalid(field)
  const [, jobId, part] = OF_JOB.exec(path) ?? []
  const isOther = jobId === undefined || (part === undefined && OF_QUEUE.has(jobId.toLowerCase()))
  return isOther || JOB_ID.test(jobId) ? undefined : NO_SUCH_JOB
}

const isValid = (name: string, value: unknown): boolean =>
  typeof value === 'string' && VALUE.test(value) && !(Number(value) > (MOST.get(name) ?? Infinity))

const invalid = (field: string): Refusal => ({
  status: 400,
  body: {
    error: { key: 'ERRORS.INVALID_QUERY_PARAM', options: { field: field.slice(0, 100) } },
    code: 'INVALID_REQUEST',
  },
})

const NO_SUCH_JOB: Refusal = { status: 404, body: { error: { key: 'ERRORS.JOB_NOT_FOUND' } } }
