import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosAccount } from './stack.js'

/**
 * `complete`: a notice with every part, whose body is stored with the event. `prepared`: a notice with HTML and without a transcript,
 * whose body the dispatcher makes. `test`: a customer's `POST /v1/webhooks/{endpoint_id}/test`.
 */
export type EventKind = 'complete' | 'prepared' | 'test'

/** An event that the API has promised to deliver to `deliveries` endpoints. `acceptedAt`: when its sender got that answer. */
export type Acknowledged = { kind: EventKind; eventId: string; deliveries: number; acceptedAt: number }

export type Load = {
  acknowledged: Acknowledged[]
  /** Requests that got no answer or a 5xx and were sent again: a summary with the same key, a test event again. */
  readonly repeated: number
  /** Answers that said that the notice had been stored before, because the answer to an earlier request was lost. */
  readonly duplicates: number
  /** Answers that no fault explains. */
  refusals: string[]
  /** Resolves when every event that was begun is acknowledged or refused. */
  stop(): Promise<void>
}

export type LoadOptions = {
  apiUrl: string
  internalUrl: string
  token: string
  accounts: readonly ChaosAccount[]
  perSecond: number
}

/** The kinds of an account's requests, in turn. */
export const KINDS: readonly EventKind[] = ['test', 'complete', 'prepared', 'complete']

type Call = { kind: EventKind; url: string; token: string; body?: string; deliveries: number }

/** Plays a pipeline and customers that send at a steady rate, and repeat each event until it is acknowledged. */
export function startLoad({ apiUrl, internalUrl, token, accounts, perSecond }: LoadOptions): Load {
  const acknowledged: Acknowledged[] = []
  const refusals: string[] = []
  const open = new Set<Promise<void>>()
  const run = `${Date.now()}`
  let count = 0
  let repeated = 0
  let duplicates = 0

  const callOf = (number: number): Call => {
    const account = accounts[number % accounts.length]
    if (!account) throw new Error('there are no accounts')
    const { accountId, accessToken, endpointIds } = account
    const round = Math.floor(number / accounts.length)
    const kind = KINDS[round % KINDS.length] ?? 'complete'
    if (kind === 'test') {
      const endpointId = endpointIds[(round / KINDS.length) % endpointIds.length]
      const url = `${apiUrl}/v1/webhooks/${endpointId}/test`
      return { kind, url, token: accessToken, deliveries: 1 }
    }
    const body = JSON.stringify({
      source_event_key: `${run}:${number}`,
      account_id: accountId,
      audio_id: `rec_${run}_${number}`,
      recording: { title: `Meeting ${number}` },
      ...(kind === 'complete'
        ? {
            transcript: { text: `Point ${number}` },
            summaries: [{ label: 'Summary', content: `Point **${number}**`, format: 'markdown' }],
          }
        : { summaries: [{ label: 'Summary', content: `<p>Point <b>${number}</b></p>`, format: 'html' }] }),
    })
    const url = `${internalUrl}/internal/v1/summary-ready`
    return { kind, url, token, body, deliveries: endpointIds.length }
  }

  const report = async ({ kind, deliveries, ...call }: Call): Promise<void> => {
    for (;;) {
      const answer = await send(call).catch(() => null)
      if (answer?.eventId !== undefined) {
        if (answer.duplicate) duplicates += 1
        return void acknowledged.push({ kind, eventId: answer.eventId, deliveries, acceptedAt: Date.now() })
      }
      if (answer?.refusal !== undefined) return void refusals.push(`${kind}: ${answer.refusal}`)
      repeated += 1
      await sleep(300)
    }
  }

  const timer = setInterval(() => {
    count += 1
    const one = report(callOf(count)).finally(() => open.delete(one))
    open.add(one)
  }, 1000 / perSecond)

  return {
    acknowledged,
    refusals,
    get repeated() {
      return repeated
    },
    get duplicates() {
      return duplicates
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(open)
    },
  }
}

/** Returns null for an answer that a fault explains. */
async function send({ url, token, body }: Pick<Call, 'url' | 'token' | 'body'>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body,
    signal: AbortSignal.timeout(5000),
  })
  const answer = (await response.json()) as { event_id?: string; queued?: boolean; duplicate?: boolean }
  if (response.status >= 500) return null
  return response.ok && answer.event_id !== undefined && answer.queued !== false
    ? { eventId: answer.event_id, duplicate: answer.duplicate === true }
    : { refusal: `${response.status} ${JSON.stringify(answer)}` }
}
