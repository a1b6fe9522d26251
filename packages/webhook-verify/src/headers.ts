import { MalformedHeaderError, MissingHeaderError } from './errors.js'

/** The header names of a delivery, as documented. Matching ignores case. */
export const EVENT_HEADER = 'X-Service-Event'
export const DELIVERY_HEADER = 'X-Service-Delivery'
export const TIMESTAMP_HEADER = 'X-Service-Timestamp'
export const SIGNATURE_HEADER = 'X-Service-Signature'

/** The header names of the Standard Webhooks specification, which a delivery carries in addition to its own. */
export const STANDARD_ID_HEADER = 'webhook-id'
export const STANDARD_TIMESTAMP_HEADER = 'webhook-timestamp'
export const STANDARD_SIGNATURE_HEADER = 'webhook-signature'

/** Fetch `Headers`, Node's `req.headers`, or any plain object in any spelling of the names. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** Returns the only value of a header. Throws if it is absent or repeated: the signature cannot cover a repeated header unambiguously. */
export function singleHeader(headers: HeaderSource, name: string): string {
  const values = valuesOf(headers, name)
  const [value] = values
  if (value === undefined || value === '') throw new MissingHeaderError(name)
  if (values.length > 1) throw new MalformedHeaderError(name)
  return value
}

export const hasHeader = (headers: HeaderSource, name: string): boolean => valuesOf(headers, name).length > 0

function valuesOf(headers: HeaderSource, name: string): string[] {
  if (isFetchHeaders(headers)) {
    const value = headers.get(name)
    return value === null ? [] : [value]
  }
  const wanted = name.toLowerCase()
  return Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === wanted)
    .flatMap(([, value]) => value ?? [])
}

function isFetchHeaders(headers: HeaderSource): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function'
}
