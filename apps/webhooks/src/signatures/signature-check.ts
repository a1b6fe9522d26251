import { deliveryHeaders, parseEventId, type DeliveryId, type EventId } from '@signet/webhook-core'
import { sameDigest } from '../credentials/credential.js'

export type SignatureVerdict = {
  readonly header: string
  readonly isRight: boolean
  readonly explanation: string
}

type Received = {
  secret: string
  /** Lines of `Name: value`. */
  headers: string
  body: string
}

/** Older requests are refused by receivers that follow the documents, so that nobody can repeat one. */
const TOLERANCE_SECONDS = 300

/** Says of each signature of a request that somebody received whether it is right, and if not, what is the likely reason. */
export function explainSignature({ secret, headers, body }: Received, now: Date): SignatureVerdict[] {
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
  return found.length > 0
    ? found
    : [wrong('headers', 'There is no X-Service-Signature and no webhook-signature.')]
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
  if (!/^\d{1,12}$/.test(timestamp)) return wrong(name, `${time} is missing, or is no number of seconds.`)
  const id = name === 'webhook-signature' ? parseEventId(sent.get('webhook-id') ?? '') : PLACEHOLDER
  if (id === null) return wrong(name, 'webhook-id is missing, or is no id of an event.')
  const isRight = bodiesOf(body).some((bytes) =>
    expectedOf(name, { secret, timestamp: Number(timestamp), body: bytes, id }).some((expected) =>
      signatures.split(' ').some((one) => sameDigest(Buffer.from(one), Buffer.from(expected))),
    ),
  )
  if (!isRight) return wrong(name, notRight(secret))
  const age = Math.round(now.getTime() / 1000) - Number(timestamp)
  return Math.abs(age) > TOLERANCE_SECONDS
    ? {
        header: name,
        isRight,
        explanation: `right, but ${Math.abs(age)} seconds from now: receivers refuse it after five minutes.`,
      }
    : { header: name, isRight, explanation: 'right.' }
}

/** `X-Service-Signature` does not depend on it. */
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

const notRight = (secret: string): string =>
  /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)
    ? 'not right for this secret and body. The body may have been parsed and written again, or the secret is of another endpoint.'
    : 'cannot be checked: a secret is whsec_ and 44 characters of base64.'

/** Browsers send a text area with CRLF, whatever was pasted. */
const bodiesOf = (body: string): string[] => [body, body.replaceAll('\r\n', '\n')]

function headersOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/\r?\n/).map((line) => /^\s*([\w-]+)\s*:\s*(.*?)\s*$/.exec(line))
  return new Map(pairs.flatMap((match) => (match ? [[(match[1] ?? '').toLowerCase(), match[2] ?? '']] : [])))
}

const wrong = (header: string, explanation: string): SignatureVerdict => ({
  header,
  isRight: false,
  explanation,
})
