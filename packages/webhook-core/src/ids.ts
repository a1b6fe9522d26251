import { randomUUID } from 'node:crypto'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** Decimal digits of a positive signed 64-bit integer: PostgreSQL's bigint, kept as text. */
export type EndpointId = Branded<'EndpointId'>
export type DeliveryId = Branded<'DeliveryId'>
/** `evt_` and 32 hex digits: 12 of milliseconds since 1970, 20 random. */
export type EventId = `evt_${string}`

const DECIMAL = /^[1-9][0-9]{0,18}$/
const MAX_BIGINT = 9223372036854775807n

const isBigintText = (text: string) => DECIMAL.test(text) && BigInt(text) <= MAX_BIGINT

/** Parses an endpoint id. Returns null if the text cannot be one, to which callers respond with 404, not 400. */
export const parseEndpointId = (text: string): EndpointId | null =>
  isBigintText(text) ? (text as EndpointId) : null

/** Parses a delivery id. Returns null if the text cannot be one. */
export const parseDeliveryId = (text: string): DeliveryId | null =>
  isBigintText(text) ? (text as DeliveryId) : null

/** Parses an event id. Returns null if the text cannot be one. */
export const parseEventId = (text: string): EventId | null =>
  /^evt_[0-9a-f]{32}$/.test(text) ? (text as EventId) : null

/**
 * Creates an event id. It starts with the time, so that new rows go to the right edge of every index on event ids, and the oldest
 * events are a range of the primary key. The other 80 bits are random, so ids cannot be guessed (decision 0010).
 */
export const newEventId = (now: Date): EventId => `evt_${timePrefix(now)}${random20Hex()}`

/** The purely random digits of a UUID (RFC 9562, section 5.4). Node creates UUIDs from random bytes that it generates in advance. */
const random20Hex = () => {
  const uuid = randomUUID()
  return uuid.slice(0, 8) + uuid.slice(24)
}

/** Events created before `time` have smaller ids than this one. For range queries only: never give it to a row. */
export const firstEventIdAt = (time: Date): EventId => `evt_${timePrefix(time)}${'0'.repeat(20)}`

const timePrefix = (time: Date) => Math.max(0, time.getTime()).toString(16).padStart(12, '0').slice(-12)
