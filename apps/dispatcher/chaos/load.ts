import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosAccount } from './stack.js'

/** An event the API has promised to deliver, and to how many endpoints. */
export type Acknowledged = { kind: 'summary' | 'test'; eventId: string; deliveries: number }

export type Load = {
  acknowledged: Acknowledged[]
  /** Requests that got no answer or a 5xx and were sent again: a summary with the same key, a test event again. */
  readonly repeated: number
  /** Answers that no fault explains. */
  refusals: string[]
  /** Ends when every event that was begun is acknowledged or refused. */
  stop(): Promise<void>
}

export type LoadOptions = {
  apiUrl: string
  internalUrl: string
  token: string
  accounts: readonly ChaosAccount[]
  perSecond: number
}

/** Every so many requests, one is a customer's `POST /v1/webhooks/{endpoint_id}/test` instead of a finished summary. */
export const TEST_EVERY = 4

type Call = { kind: Acknowledged['kind']; url: string; token: string; body?: string; deliveries: number }

/** A pipeline and customers that go on at a steady rate, and insist until each of their events is acknowledged. */
export function startLoad({ apiUrl, internalUrl, token, accounts, perSecond }: LoadOptions): Load {
  const acknowledged: Acknowledged[] = []
  const refusals: string[] = []
  const open = new Set<Promise<void>>()
  const run = `${Date.now()}`
  let count = 0
  let repeated = 0

  const callOf = (number: number): Call => {
    const account = accounts[number % accounts.length]
    if (!account) throw new Error('there are no accounts')
    const { accountId, accessToken, endpointIds } = account
    const round = Math.floor(number / accounts.length)
    if (round % TEST_EVERY === 0) {
      const endpointId = endpointIds[(round / TEST_EVERY) % endpointIds.length]
      const url = `${apiUrl}/v1/webhooks/${endpointId}/test`
      return { kind: 'test', url, token: accessToken, deliveries: 1 }
    }
    const body = JSON.stringify({
      source_event_key: `${run}:${number}`,
      account_id: accountId,
      audio_id: `rec_${run}_${number}`,
      recording: { title: `Meeting ${number}` },
      summaries: [{ label: 'Summary', content: `<p>Point <b>${number}</b></p>`, format: 'html' }],
    })
    const url = `${internalUrl}/internal/v1/summary-ready`
    return { kind: 'summary', url, token, body, deliveries: endpointIds.length }
  }

  const report = async ({ kind, deliveries, ...call }: Call): Promise<void> => {
    for (;;) {
      const answer = await send(call).catch(() => null)
      if (answer?.eventId !== undefined)
        return void acknowledged.push({ kind, eventId: answer.eventId, deliveries })
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
    async stop() {
      clearInterval(timer)
      await Promise.all(open)
    },
  }
}

/** Null for an answer that a fault explains. */
async function send({ url, token, body }: Pick<Call, 'url' | 'token' | 'body'>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body,
    signal: AbortSignal.timeout(5000),
  })
  const answer = (await response.json()) as { event_id?: string; queued?: boolean }
  if (response.status >= 500) return null
  return response.ok && answer.event_id !== undefined && answer.queued !== false
    ? { eventId: answer.event_id }
    : { refusal: `${response.status} ${JSON.stringify(answer)}` }
}
