import { setTimeout as sleep } from 'node:timers/promises'

export type Acknowledged = { eventId: string; accountId: string; at: number }

export type Load = {
  /** Events the API has promised to deliver. */
  acknowledged: Acknowledged[]
  /** Requests that got no answer or a 5xx and were sent again with the same key. */
  readonly repeated: number
  /** Ends when every event that was begun is acknowledged. */
  stop(): Promise<void>
}

export type LoadOptions = {
  internalUrl: string
  token: string
  accounts: readonly string[]
  perSecond: number
}

/** A pipeline that reports finished summaries at a steady rate, and insists until each is acknowledged. */
export function startLoad({ internalUrl, token, accounts, perSecond }: LoadOptions): Load {
  const acknowledged: Acknowledged[] = []
  const open = new Set<Promise<void>>()
  const run = `${Date.now()}`
  let count = 0
  let repeated = 0

  const report = async (number: number): Promise<void> => {
    const accountId = accounts[number % accounts.length] ?? ''
    const body = JSON.stringify({
      source_event_key: `${run}:${number}`,
      account_id: accountId,
      audio_id: `rec_${run}_${number}`,
      recording: { title: `Meeting ${number}` },
      summaries: [{ label: 'Summary', content: `<p>Point <b>${number}</b></p>`, format: 'html' }],
    })
    for (;;) {
      const eventId = await ingest(body).catch(() => null)
      if (eventId !== null) return void acknowledged.push({ eventId, accountId, at: Date.now() })
      repeated += 1
      await sleep(300)
    }
  }

  const ingest = async (body: string): Promise<string | null> => {
    const response = await fetch(`${internalUrl}/internal/v1/summary-ready`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body,
      signal: AbortSignal.timeout(5000),
    })
    const answer = (await response.json()) as { event_id?: string }
    if (response.status < 300) return answer.event_id ?? null
    if (response.status < 500)
      throw new Error(`ingest was refused: ${response.status} ${JSON.stringify(answer)}`)
    return null
  }

  const timer = setInterval(() => {
    count += 1
    const one = report(count).finally(() => open.delete(one))
    open.add(one)
  }, 1000 / perSecond)

  return {
    acknowledged,
    get repeated() {
      return repeated
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(open)
    },
  }
}
