import { parseEventId, type DeliveryId, type EventId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'

/** The result of checking one signature. */
export type SignatureFinding = 'right' | 'old' | 'not-right' | 'bad-secret' | 'no-time' | 'no-id' | 'none'

export type SignatureVerdict = {
  readonly header: string
  readonly isRight: boolean
  readonly finding: SignatureFinding
  /** Header with the time of the request. */
  readonly timeHeader: string
  /** Seconds between that time and now. */
  readonly seconds: number
}

type Received = {
  secret: string
  /** Lines of `Name: value`. */
  headers: string
  body: string
}

/** Receivers that follow the documentation refuse older requests, so that they cannot be replayed. */
const TOLERANCE_SECONDS = 300

/** Returns whether each signature of a received request is right and, if not, the likely reason. */
export function checkSignature({ secret, headers, body }: Received, now: Date): SignatureVerdict[] {
  const sent = headersOf(headers)
  const signed = { secret, bodies: bodiesOf(body), now }
  const own = checkOne(sent, { name: 'x-service-signature', time: 'x-service-timestamp' }, signed)
  const standard = checkOne(sent, { name: 'webhook-signature', time: 'webhook-timestamp' }, signed)
  const found = [own, standard].filter((verdict) => verdict !== null)
  return found.length > 0 ? found : [wrong('headers', 'none')]
}

type SignatureHeader = { name: 'x-service-signature' | 'webhook-signature'; time: string }

function checkOne(
  sent: ReadonlyMap<string, string>,
  { name, time }: SignatureHeader,
  { secret, bodies, now }: { secret: string; bodies: Buffer[]; now: Date },
): SignatureVerdict | null {
  const signatures = sent.get(name)
  if (signatures === undefined) return null
  const timestamp = sent.get(time) ?? ''
  if (!/^\d{1,12}$/.test(timestamp)) return wrong(name, 'no-time', time)
  const id = name === 'webhook-signature' ? parseEventId(sent.get('webhook-id') ?? '') : PLACEHOLDER
  if (id === null) return wrong(name, 'no-id')
  const isRight = bodies.some((body) =>
    expectedOf(name, { secret, timestamp: Number(timestamp), body, id }).some((expected) =>
      // Not in constant time: the person who asks has the secret.
      ` ${signatures} `.includes(` ${expected} `),
    ),
  )
  if (!isRight) return wrong(name, notRight(secret))
  const seconds = Math.abs(Math.round(now.getTime() / 1000) - Number(timestamp))
  const finding = seconds > TOLERANCE_SECONDS ? 'old' : 'right'
  return { header: name, isRight, finding, timeHeader: time, seconds }
}

/** Used where there is no id: `X-Service-Signature` does not depend on it. */
const PLACEHOLDER: EventId = `evt_${'0'.repeat(32)}`

function expectedOf(
  name: SignatureHeader['name'],
  { secret, timestamp, body, id }: { secret: string; timestamp: number; body: Buffer; id: EventId },
): string[] {
  try {
    const content = { secret, timestamp, body, eventId: id, eventType: '', deliveryId: '0' as DeliveryId }
    return [deliveryHeaders(content)[name]]
  } catch {
    return []
  }
}

/** Older secrets are URL-safe Base64 without padding (docs/specification.md#standard-webhooks). */
const notRight = (secret: string): SignatureFinding =>
  /^whsec_(?:[A-Za-z0-9+/]{43}=|[A-Za-z0-9_-]{43})$/.test(secret) ? 'not-right' : 'bad-secret'

/** Browsers send the lines of a text area with CRLF, even if the pasted text had LF. */
function bodiesOf(text: string): Buffer[] {
  const body = Buffer.from(text)
  return text.includes('\r\n') ? [body, withoutReturns(body)] : [body]
}

/** Replaces each CRLF with LF. A regular expression takes ten times as long, and people may paste megabytes of short lines. */
function withoutReturns(body: Buffer): Buffer {
  const kept = Buffer.allocUnsafe(body.length)
  let length = 0
  for (let at = 0; at < body.length; at += 1) {
    if (body[at] === RETURN && body[at + 1] === LINE_FEED) continue
    kept[length] = body[at] as number
    length += 1
  }
  return kept.subarray(0, length)
}

const [RETURN, LINE_FEED] = [0x0d, 0x0a]

/** More than web servers take. A form has room for millions of lines, and reading them all would hold up everybody else. */
const MAX_HEADERS_LENGTH = 65_536

/** In linear time. A regular expression that leaves out spaces at the end is quadratic. */
function headersOf(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of text.slice(0, MAX_HEADERS_LENGTH).split('\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).trim()
    if (/^[\w-]+$/.test(name)) headers.set(name.toLowerCase(), line.slice(colon + 1).trim())
  }
  return headers
}

const wrong = (header: string, finding: SignatureFinding, timeHeader = ''): SignatureVerdict => ({
  header,
  isRight: false,
  finding,
  timeHeader,
  seconds: 0,
})
