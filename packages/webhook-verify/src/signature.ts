import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { types } from 'node:util'
import { RawBodyRequiredError } from './errors.js'
import { standardKey } from './secret.js'

/** A body as received: bytes in any form that servers use, or text. */
export type RawBody = Uint8Array | ArrayBuffer | string

export function bytesOf(rawBody: RawBody): Buffer {
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  // Not instanceof: the bytes may come from another realm, such as a test runner's.
  if (ArrayBuffer.isView(rawBody)) return Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  if (types.isAnyArrayBuffer(rawBody)) return Buffer.from(rawBody)
  // Callers in JavaScript may pass `req.body` after a JSON parser. Without this check, that would only be reported as a wrong
  // signature.
  throw new RawBodyRequiredError()
}

/** `X-Service-Signature`. The key is the whole secret as text. */
export const serviceSignature = (secret: string, timestamp: string, body: Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`

/** One entry of `webhook-signature`. The key is the decoded secret, and the id is signed as well. */
export const standardSignature = (
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: string; body: Buffer },
): string => {
  const mac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.`).update(body)
  return `v1,${mac.digest('base64')}`
}
