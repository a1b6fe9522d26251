import { readFileSync } from 'node:fs'

type Vector = { name: string; body: string; signature: string }
export type Vectors = {
  secret: string
  timestamp: string
  accepted: (Vector & { bytes: number })[]
  refused: Vector[]
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
