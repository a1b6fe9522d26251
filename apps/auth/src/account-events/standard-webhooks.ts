import { createHmac } from 'node:crypto'

/** The key of a secret as Standard Webhooks writes them: `whsec_` and the base64 of 24 to 64 bytes. */
export function parseSigningKey(secret: string): Buffer {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/_-]+={0,2})$/.exec(secret) ?? []
  const key = Buffer.from(encoded, 'base64')
  if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES)
    throw new Error('must be whsec_ and the base64 of 24 to 64 bytes')
  return key
}

const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64

/** The headers of one attempt: the id stays the same in each, the time and with it the signature do not. */
export function signedHeaders(
  key: Buffer,
  message: { id: string; body: string; at: Date },
): Record<string, string> {
  const timestamp = String(Math.floor(message.at.getTime() / 1000))
  const mac = createHmac('sha256', key).update(`${message.id}.${timestamp}.${message.body}`).digest('base64')
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${mac}`,
  }
}
