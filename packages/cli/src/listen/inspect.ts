import {
  DELIVERY_HEADER,
  EVENT_HEADER,
  verify,
  WebhookVerificationError,
  type VerificationFailure,
} from '@signet/webhook-verify'
import type { Received } from './receiver.js'
import { parseJson } from '../json/parse-json.js'

/** `unchecked` means that no secret is known. Otherwise `verified`, or the reason why verification failed. */
export type Verification = 'verified' | 'unchecked' | VerificationFailure

export type Inspected = {
  receivedAt: Date
  verification: Verification
  /** From the headers, which the signature does not cover, so this is only the sender's claim. */
  claimedType: string
  deliveryId: string
  /** The parsed body, or its text if it cannot be parsed. */
  payload: unknown
  eventId: string | undefined
}

/** Determines whether a delivery is authentic and what it contains. Never throws, whatever the sender sends. */
export function inspect({ body, headers, receivedAt }: Received, secret: string | undefined): Inspected {
  const payload = parse(body)
  return {
    receivedAt,
    verification: secret === undefined ? 'unchecked' : verificationOf(body, headers, secret),
    claimedType: headerText(headers[EVENT_HEADER.toLowerCase()]),
    deliveryId: headerText(headers[DELIVERY_HEADER.toLowerCase()]),
    payload,
    eventId: eventIdOf(payload),
  }
}

function verificationOf(body: Buffer, headers: Received['headers'], secret: string): Verification {
  try {
    verify(body, headers, secret)
    return 'verified'
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code
    throw error
  }
}

function parse(body: Buffer): unknown {
  const text = body.toString('utf8')
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

function eventIdOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const { id } = payload as { id?: unknown }
  return typeof id === 'string' ? id : undefined
}

const headerText = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? value.join(', ') : (value ?? '')
