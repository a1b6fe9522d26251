import { randomBytes } from 'node:crypto'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** Decimal digits of a positive signed 64-bit integer: PostgreSQL's bigint, kept as text. */
export type EndpointId = Branded<'EndpointId'>
export type DeliveryId = Branded<'DeliveryId'>
/** `evt_` and 32 hex digits: 12 of milliseconds since 1970, 20 random. */
export type EventId = `evt_${string}`

const DECIMAL = /^[1-9][0-9]{0,18}$/
const MAX_BIGINT = 9223372036854775807n
const EVENT_ID = /^evt_[0-9a-f]{32}$/

const isBigintText = (text: string) => DECIMAL.test(text) && BigInt(text) <= MAX_BIGINT

/** The id of an endpoint, or null when the text cannot be one (contract E.1: the caller answers 404, not 400). */
export const parseEndpointId = (text: string): EndpointId | null =>
  isBigintText(text) ? (text as EndpointId) : null

/** The id of a delivery, or null when the text cannot be one. */
export const parseDeliveryId = (text: string): DeliveryId | null =>
  isBigintText(text) ? (text as DeliveryId) : null

/** The id of an event, or null when the text cannot be one. */
export const parseEventId = (text: string): EventId | null => (EVENT_ID.test(text) ? (text as EventId) : null)

/**
 * A fresh event id. Its first half is the time, so that new rows go to the right edge of every index on event ids and the
 * oldest events are a range of the primary key; the other 80 bits are random, so that nobody can guess one.
 */
export const newEventId = (now: Date): EventId => `evt_${timePrefix(now)}${randomBytes(10).toString('hex')}`

/** Every event made before `time` has a smaller id than this one. For range queries, never for a row. */
export const firstEventIdAt = (time: Date): EventId => `evt_${timePrefix(time)}${'0'.repeat(20)}`

const timePrefix = (time: Date) => Math.max(0, time.getTime()).toString(16).padStart(12, '0').slice(-12)
