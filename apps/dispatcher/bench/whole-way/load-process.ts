// Plays the recording pipeline: publishes events one by one over HTTP, in a separate process.
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Content, LoadAsk, LoadTell, Sent, Target } from './messages.js'
import { loadPeer } from './peer.js'

const CONNECTIONS = 64
/** Approximate size of a notice without its content. */
const OTHER_BYTES = 420

process.on('message', (ask: LoadAsk) => void run(ask).then((tell) => process.send?.(tell)))
process.once('disconnect', () => process.exit())

async function run({ to, bytes, content = 'transcript', events, perSecond }: LoadAsk): Promise<LoadTell> {
  const text = TEXTS[content](Math.max(1, bytes - OTHER_BYTES))
  const publisher = 'peer' in to ? await peerPublisher(to, text) : ourPublisher(to, partsOf(text, content))
  const sent: Sent = []
  const publish = async (number: number, due: number) =>
    void sent.push([await publisher.publish(number), due])
  await (perSecond === undefined ? asFastAsAnswered(events, publish) : atRate(events, perSecond, publish))
  await publisher.close()
  return { sent }
}

const SECTION =
  '<div><h2>Title</h2><p>The <b>quick</b> brown <a href="https://example.com/?a=1&amp;b=2">fox</a>.</p><ul><li>one</li><li>two <i>three</i></li></ul><table><tr><th>a</th></tr><tr><td>b</td></tr></table></div>\n'

/** An event has this many summaries of nested HTML, each with an equal share of the bytes. */
const NESTED_SUMMARIES = 150

const TEXTS: Readonly<Record<Content, (length: number) => string>> = {
  transcript: (length) => randomBytes(length).toString('base64').slice(0, length),
  HTML: (length) => SECTION.repeat(Math.ceil(length / SECTION.length)),
  'nested HTML': (length) => '<div>'.repeat(Math.ceil(length / NESTED_SUMMARIES / '<div>'.length)),
  'dense HTML': (length) => '<p>a'.repeat(Math.ceil(length / '<p>a'.length)),
}

/** Publishes one event and returns its id. */
type Publisher = { publish: (number: number) => Promise<string>; close: () => Promise<void> }

const poolOf = (origin: string) => new Pool(origin, { connections: CONNECTIONS, pipelining: 1 })

function ourPublisher({ url, token, accounts }: Extract<Target, { url: string }>, parts: object): Publisher {
  const { origin, pathname } = new URL(url)
  const pool = poolOf(origin)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  return {
    async publish(number) {
      const body = JSON.stringify(notice(accounts[number % accounts.length] ?? '', parts))
      const answer = await pool.request({ method: 'POST', path: pathname, headers, body })
      const { event_id: id } = (await answer.body.json()) as { event_id: string }
      if (answer.statusCode !== 202) throw new Error(`the notice was answered with ${answer.statusCode}`)
      return id
    },
    close: () => pool.close(),
  }
}

async function peerPublisher(
  { peer: file, subscriptions }: Extract<Target, { peer: string }>,
  text: string,
): Promise<Publisher> {
  const peer = await loadPeer(file)
  const pools = new Map<string, Pool>()
  return {
    async publish(number) {
      const id = `evt_${randomBytes(16).toString('hex')}`
      const { url, headers, body } = peer.publish(subscriptions[number % subscriptions.length], { id, text })
      const { origin, pathname, search } = new URL(url)
      const pool = pools.get(origin) ?? poolOf(origin)
      pools.set(origin, pool)
      const answer = await pool.request({ method: 'POST', path: pathname + search, headers, body })
      const said = await answer.body.text()
      if (answer.statusCode >= 300) throw new Error(`${peer.name} answered ${answer.statusCode}: ${said}`)
      return id
    },
    close: async () => void (await Promise.all([...pools.values()].map((pool) => pool.close()))),
  }
}

type Publish = (number: number, due: number) => Promise<void>

async function asFastAsAnswered(events: number, publish: Publish): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < events) await publish(next++, Date.now())
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
}

/** Sends each event when it is due, however earlier ones fared, so that a server that falls behind shows it in every later event. */
async function atRate(events: number, perSecond: number, publish: Publish): Promise<void> {
  const open: Promise<void>[] = []
  const startedAt = Date.now()
  while (open.length < events) {
    const due = Math.min(events, 1 + Math.floor(((Date.now() - startedAt) / 1000) * perSecond))
    while (open.length < due) open.push(publish(open.length, startedAt + (1000 * open.length) / perSecond))
    await sleep(1)
  }
  await Promise.all(open)
}

/** A notice with every part, as the recording pipeline sends it. */
const notice = (accountId: string, parts: object) => ({
  source_event_key: `summary:${randomUUID()}`,
  account_id: accountId,
  audio_id: `rec_${randomUUID()}`,
  recording: { title: 'Weekly sync', status: 3, duration_ms: 1_834_000 },
  ...parts,
})

function partsOf(text: string, content: Content): object {
  if (content === 'transcript')
    return {
      transcript: { language: 'en', text },
      summaries: [{ label: 'Summary', content: 'All is well.', format: 'markdown' }],
    }
  const summary = { label: 'Summary', content: text, format: 'html' }
  const count = content === 'nested HTML' ? NESTED_SUMMARIES : 1
  return { transcript: null, summaries: Array.from({ length: count }, () => summary) }
}
