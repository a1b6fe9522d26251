import type { BodySpec, JsonSchema } from '@signet/http'
import { refuseUnstorable } from '../users/storable-text.js'

export const MAX_BYTES = 1024 * 1024

const TYPES = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  object: { type: 'object' },
} as const satisfies Record<string, JsonSchema>
type FieldType = keyof typeof TYPES
type Fields = Readonly<Record<string, FieldType>>

/** The object type of a field table; every field is optional. */
export type BodyOf<F extends Fields> = {
  readonly [K in keyof F]?: F[K] extends 'string'
    ? string
    : F[K] extends 'boolean'
      ? boolean
      : Record<string, unknown>
}

/** The fields that may hold the CAPTCHA response (docs/specification.md#captcha). */
export const captchaFields = { captcha_token: 'string', gotrue_meta_security: 'object' } as const

/**
 * A JSON body as described in docs/specification.md#bodies: any content type, `null` means absent, unknown members are ignored, a wrong
 * JSON type is `bad_json`. Services validate the values. `optional` allows an empty body; `form` also accepts an urlencoded one.
 */
export function jsonBody(fields: Fields, { optional = false, form = false } = {}): BodySpec {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, TYPES[type]]))
  return {
    as: form ? 'json-or-form' : 'any-json',
    maxBytes: MAX_BYTES,
    schema: { type: 'object', properties },
    optional,
    // Drop members that no route reads, because many requests may have to wait for a long time.
    prepare(value) {
      const known = Object.entries(value).filter(
        ([name, member]) => member !== null && Object.hasOwn(properties, name),
      )
      const body = Object.fromEntries(known)
      refuseUnstorable(body)
      return body
    },
  }
}

export function captchaTokenOf(body: {
  captcha_token?: string
  gotrue_meta_security?: Record<string, unknown>
}): string | undefined {
  const nested = body.gotrue_meta_security?.['captcha_token']
  return body.captcha_token ?? (typeof nested === 'string' ? nested : undefined)
}
