import { randomUUID } from 'node:crypto'
import type { Api } from './api.js'

export type EndpointBody = {
  id: string
  url: string
  events: string[]
  status: number
  consecutive_failures: number
  failing_since: string
  disabled_at: string
  disabled_reason: string
  secret_activates_at: string
  created_at: string
  updated_at: string
}

/** Creates an endpoint through the API and returns its id and secret. */
export async function createEndpoint(
  api: Api,
  token: string,
  body: object = { url: 'https://example.com/hook', events: ['summary.completed'] },
): Promise<{ id: string; secret: string }> {
  const reply = await api.call('POST', '/v1/webhooks', { token, body })
  if (reply.status !== 200) throw new Error(`no endpoint: ${reply.status} ${reply.text}`)
  const { endpoint_id, secret } = reply.body as { endpoint_id: string; secret: string }
  return { id: endpoint_id, secret }
}

export async function listOf(api: Api, token: string): Promise<EndpointBody[]> {
  const { body } = await api.call('GET', '/v1/webhooks', { token })
  return (body as { items: EndpointBody[] }).items
}

/** Disables an endpoint, as twenty consecutive failures would. */
export async function disable(api: Api, id: string): Promise<void> {
  await api.db.query(
    `update webhook_endpoints set status = 2, disabled_at = now(), disabled_reason = 'http_500',
       consecutive_failures = 20, failing_since = now() where id = $1`,
    [id],
  )
}

type EventRow = {
  id: string
  type: string
  target_endpoint_id: string | null
  state: string
  body: string | null
}

export async function eventRows(api: Api, accountId: string): Promise<EventRow[]> {
  const { rows } = await api.db.query<EventRow>(
    `select id, type, target_endpoint_id, state, body from webhook_events where account_id = $1
     order by created_at, id`,
    [accountId],
  )
  return rows
}

/** The events that wait in the queue, from the jobs in Redis, which can have many events each. */
export async function queuedEvents(api: Api) {
  const { queues } = api.service.ctx
  const jobs = await queues.events.getJobs(['waiting', 'delayed', 'prioritized'])
  return jobs.flatMap(({ data }) => data.events)
}

/** A summary-ready notice with every part. */
export const aNotice = (accountId: string, more: object = {}) => ({
  source_event_key: `summary:${randomUUID()}`,
  account_id: accountId,
  audio_id: 'rec_1001',
  recording: {
    report_id: 'rep_7',
    status: 3,
    title: 'Weekly sync',
    duration_ms: 1_834_000,
    recorded_at: '2026-01-01T09:00:00.000Z',
  },
  transcript: {
    language: 'en',
    text: 'Hello.',
    segments: [{ speaker: 'A', start: 0, end: 4.2, text: 'Hello.' }],
  },
  summaries: [{ label: 'Summary', content: '<h1>Hi</h1>', format: 'html', template_name: 'Default' }],
  ...more,
})

type Row = Record<string, unknown>
type Mirror = {
  recording: Row | null
  transcript: Row | null
  summaries: Row[]
}

/** The mirror rows of an account that has at most one recording. */
export async function mirrorOf(api: Api, accountId: string): Promise<Mirror> {
  const one = async (columns: string, table: string) =>
    (await api.db.query<Row>(`select ${columns} from ${table} where account_id = $1`, [accountId])).rows[0] ??
    null
  const recording = await one('report_id, status, title, duration_ms, recorded_at', 'recordings')
  const { rows } = await api.db.query<Row>(
    'select label, content, format, template_name from summaries where account_id = $1 order by position',
    [accountId],
  )
  return {
    recording: recording && {
      ...recording,
      recorded_at: (recording['recorded_at'] as Date | null)?.toISOString() ?? null,
    },
    transcript: await one('language, text, segments', 'transcripts'),
    summaries: rows,
  }
}
