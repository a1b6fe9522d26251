// The recording pipeline of the bench: publishes events one by one over HTTP, in a process of its own.
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { LoadAsk, LoadTell } from './messages.js'

const CONNECTIONS = 64
/** What a notice has beside the text of the transcript, about. */
const OTHER_BYTES = 420

process.on('message', (ask: LoadAsk) => void run(ask).then((tell) => process.send?.(tell)))
process.once('disconnect', () => process.exit())

const now = () => performance.timeOrigin + performance.now()

async function run({ url, token, accounts, bytes, events, perSecond }: LoadAsk): Promise<LoadTell> {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 })
  const text = randomBytes(bytes)
    .toString('base64')
    .slice(0, Math.max(1, bytes - OTHER_BYTES))
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const sent: [string, number][] = []

  const publish = async (number: number, due: number) => {
    const body = JSON.stringify(notice(accounts[number % accounts.length] ?? '', text))
    const answer = await pool.request({ method: 'POST', path: pathname, headers, body })
    const { event_id: id } = (await answer.body.json()) as { event_id: string }
    if (answer.statusCode !== 202) throw new Error(`the notice was answered with ${answer.statusCode}`)
    sent.push([id, due])
  }

  await (perSecond === undefined ? asFastAsAnswered(events, publish) : atRate(events, perSecond, publish))
  await pool.close()
  return { sent }
}

type Publish = (number: number, due: number) => Promise<void>

async function asFastAsAnswered(events: number, publish: Publish): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < events) await publish(next++, now())
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
}

/** Each at its time, whatever became of the ones before: a server that falls behind shows it in every later event. */
async function atRate(events: number, perSecond: number, publish: Publish): Promise<void> {
  const open: Promise<void>[] = []
  const startedAt = now()
  while (open.length < events) {
    const due = Math.min(events, Math.floor(((now() - startedAt) / 1000) * perSecond))
    while (open.length < due) open.push(publish(open.length, startedAt + (1000 * open.length) / perSecond))
    await sleep(1)
  }
  await Promise.all(open)
}

/** A notice with every part, as the recording pipeline sends it. */
const notice = (accountId: string, text: string) => ({
  source_event_key: `summary:${randomUUID()}`,
  account_id: accountId,
  audio_id: `rec_${randomUUID()}`,
  recording: { title: 'Weekly sync', status: 3, duration_ms: 1_834_000 },
  transcript: { language: 'en', text },
  summaries: [{ label: 'Summary', content: 'All is well.', format: 'markdown' }],
})
