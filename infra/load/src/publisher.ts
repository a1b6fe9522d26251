import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Options } from './options.js'

export type Published = {
  /** When each accepted event was due, in ms since the epoch, by event id. */
  accepted: Map<string, number>
  /** Times from when an event was due to its answer, in ms. If a server falls behind, every later event shows it. */
  answerMs: number[]
  /** How many events were not accepted, by status or error code. */
  refused: Map<string, number>
  seconds: number
}

const now = () => performance.timeOrigin + performance.now()

/** Publishes at the given rate, no matter what happened to earlier events. */
export async function publish(options: Options): Promise<Published> {
  const { url, token, accounts, perSecond, seconds, connections } = options
  const pool = new Pool(url.origin, { connections, pipelining: 1 })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const text = randomBytes(options.bytes).toString('base64').slice(0, options.bytes)
  const published: Published = { accepted: new Map(), answerMs: [], refused: new Map(), seconds: 0 }
  const { accepted, answerMs, refused } = published

  const one = async (number: number, due: number): Promise<void> => {
    const outcome = await post(pool, {
      method: 'POST',
      path: url.pathname + url.search,
      headers,
      body: JSON.stringify(notice(accounts[number % accounts.length] ?? '', text)),
    })
    answerMs.push(now() - due)
    if ('id' in outcome) accepted.set(outcome.id, due)
    else refused.set(outcome.reason, (refused.get(outcome.reason) ?? 0) + 1)
  }

  const total = perSecond * seconds
  const open: Promise<void>[] = []
  const startedAt = now()
  while (open.length < total) {
    const due = Math.min(total, Math.floor(((now() - startedAt) / 1000) * perSecond) + 1)
    while (open.length < due) open.push(one(open.length, startedAt + (1000 * open.length) / perSecond))
    await sleep(1)
  }
  await Promise.all(open)
  await pool.close()
  return { ...published, seconds: (now() - startedAt) / 1000 }
}

type Outcome = { id: string } | { reason: string }

async function post(pool: Pool, request: Parameters<Pool['request']>[0]): Promise<Outcome> {
  try {
    const { statusCode, body } = await pool.request(request)
    const answer = (await body.json()) as { event_id?: string; error?: unknown }
    if (answer.event_id !== undefined) return { id: answer.event_id }
    return { reason: String(statusCode) }
  } catch (error) {
    const { code } = error as { code?: unknown }
    return { reason: typeof code === 'string' ? code : 'no answer' }
  }
}

/** A notice with every part, as a recording pipeline sends it (apps/webhooks/docs/publishing.md). */
const notice = (accountId: string, text: string) => ({
  source_event_key: `load:${randomUUID()}`,
  account_id: accountId,
  audio_id: `load_${randomUUID()}`,
  recording: { title: 'Load', status: 3, duration_ms: 60_000 },
  transcript: { language: 'en', text },
  summaries: [{ label: 'Summary', content: 'Nobody said this.', format: 'markdown' }],
})
