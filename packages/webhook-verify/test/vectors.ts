import { readFileSync } from 'node:fs'

export type Vectors = {
  secret: string
  timestamp: string
  /** Bodies, each with the `X-Service-Signature` that the service makes for it. */
  accepted: { name: string; body: string; bytes: number; signature: string }[]
  tolerance_seconds: number
  /** Deliveries, each with the verdict that every verifier must reach. */
  cases: VectorCase[]
}

export type VectorCase = {
  name: string
  /** `accepted`, or the code of the refusal. */
  verdict: string
  secrets: string[]
  /** Unix seconds. */
  now: number
  headers: Record<string, string>
  body: string
}

export const vectors = JSON.parse(
  readFileSync(new URL('../vectors.json', import.meta.url), 'utf8'),
) as Vectors

/** The moment the vectors were signed. */
export const signedAt = () => new Date(Number(vectors.timestamp) * 1000)

export const headersFor = (signature: string, timestamp = vectors.timestamp) => ({
  'x-service-event': 'webhook.ping',
  'x-service-delivery': '981',
  'x-service-timestamp': timestamp,
  'x-service-signature': signature,
})
