import { renderEnvExample, renderMarkdown } from '@signet/config'
import { FAILURES_TO_DISABLE, FAILURES_TO_WARN } from '@signet/webhook-core'
import { MAX_EVENTS_PER_JOB } from '@signet/webhook-core/queue'
import { settings } from './config/config.js'
import { MAX_DEPTH, MAX_NODES } from './markdown/html-tree.js'
import { CPU_LIMIT_MS, MAX_BYTES as MAX_HTML_BYTES } from './markdown/markdown-converter.js'
import { EVENT_BUDGET_MS } from './preparing/conversion-scheduler.js'
import { BURST_MS } from './preparing/cpu-budget.js'
import { MAX_OUTSTANDING } from './recovering/recoverer.js'
import { KEEP_DAYS } from './retention/retention.js'
import { MAX_ANSWER_BYTES } from './sending/http-sender.js'

/** Documents generated from the code. `npm run docs` writes them; a check fails when one is stale. */
export function generatedDocs(): Record<string, string> {
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the dispatcher', settings, FIXED_LIMITS),
    '.env.example': renderEnvExample(settings),
  }
}

const seconds = (ms: number) => `${ms / 1000} s`

const FIXED_LIMITS = [
  { of: 'failed attempts in a row that disable an endpoint', limit: String(FAILURES_TO_DISABLE) },
  { of: 'failed attempts in a row at which its owner is warned', limit: FAILURES_TO_WARN.join(' and ') },
  {
    of: 'how long events with their deliveries, and deleted endpoints, are kept',
    limit: `${KEEP_DAYS} days`,
  },
  { of: 'events of one job', limit: String(MAX_EVENTS_PER_JOB) },
  { of: 'deliveries of one recovery that wait for their attempts', limit: String(MAX_OUTSTANDING) },
  { of: 'bytes of a response that are read', limit: `${MAX_ANSWER_BYTES / 1024} KiB` },
  { of: 'HTML document that becomes Markdown', limit: `${MAX_HTML_BYTES / 1024 / 1024} MiB` },
  { of: 'depth of its elements', limit: String(MAX_DEPTH) },
  { of: 'its nodes', limit: MAX_NODES.toLocaleString('en') },
  { of: 'CPU time for one document', limit: seconds(CPU_LIMIT_MS) },
  { of: 'CPU time for all documents of an event', limit: seconds(EVENT_BUDGET_MS) },
  {
    of: 'CPU time for all documents of an account',
    limit: `${seconds(BURST_MS)}, then half of a thread, on each dispatcher`,
  },
]
