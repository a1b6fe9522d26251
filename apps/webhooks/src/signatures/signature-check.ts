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
  const own = checkOne(
    sent,
    { name: 'x-service-signature', time: 'x-service-timestamp' },
    { secret, body, now },
  )
  const standard = checkOne(
    sent,
    { name: 'webhook-signature', time: 'webhook-timestamp' },
    { secret, body, now },
  )
  const found = [own, standard].filter((verdict) => verdict !== null)
  return found.length > 0 ? found : [wrong('headers', 'none')]
}

type SignatureHeader = { name: 'x-service-signature' | 'webhook-signature'; time: string }

function checkOne(
  sent: ReadonlyMap<string, string>,
  { name, time }: SignatureHeader,
  { secret, body, now }: { secret: string; body: string; now: Date },
): SignatureVerdict | null {
  const signatures = sent.get(name)
  if (signatures === undefined) return null
  const timestamp = sent.get(time) ?? ''
  if (!/^\d{1,12}$/.test(timestamp)) return wrong(name, 'no-time', time)
  const id = name === 'webhook-signature' ? parseEventId(sent.get('webhook-id') ?? '') : PLACEHOLDER
  if (id === null) return wrong(name, 'no-id')
  const isRight = bodiesOf(body).some((bytes) =>
    expectedOf(name, { secret, timestamp: Number(timestamp), body: bytes, id }).some((expected) =>
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
  { secret, timestamp, body, id }: { secret: string; timestamp: number; body: string; id: EventId },
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
const bodiesOf = (body: string): string[] => [body, body.replaceAll('\r\n', '\n')]

/** In linear time. A regular expression that leaves out spaces at the end is quadratic, and people may paste megabytes. */
function headersOf(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of text.split('\n')) {
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
