import { createHmac, randomUUID } from 'node:crypto'
import type { Harness } from './harness.js'

export const secretOf = (key: Buffer) => `whsec_${key.toString('base64')}`

export type Sending = { key?: Buffer; signedAt?: number; id?: string; raw?: string }

/** Returns a function that sends account events as the identity server does, by default signed with the key `usual`. */
export const teller =
  (harness: Pick<Harness, 'internal'>, usual: Buffer) =>
  async (
    event: object,
    { key = usual, signedAt = Date.now() / 1000, id = randomUUID(), raw }: Sending = {},
  ): Promise<number> => {
    const body = raw ?? JSON.stringify(event)
    const timestamp = String(Math.floor(signedAt))
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
    const response = await fetch(`${harness.internal}/internal/v1/account-events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${mac}`,
      },
      body,
    })
    await response.arrayBuffer()
    return response.status
  }

export const at = (ms: number) => new Date(Date.now() + ms).toISOString()
export const HOUR = 3_600_000
export const banned = (user: { id: string }, decidedAt = at(0), until = at(HOUR)) => ({
  type: 'user.banned',
  timestamp: decidedAt,
  data: { user_id: user.id, banned_until: until },
})
export const plain = (type: string, user: { id: string }, decidedAt = at(0)) => ({
  type,
  timestamp: decidedAt,
  data: { user_id: user.id },
})
export const sessionsEnded = (user: { id: string }, sessionIds: string[]) => ({
  ...plain('user.sessions_ended', user),
  data: { user_id: user.id, session_ids: sessionIds },
})
