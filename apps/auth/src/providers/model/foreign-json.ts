import type { JsonObject } from '../../users/user.js'
import { ProviderError, type ProviderEmail } from './provider.js'

/** OpenID Connect Core section 2 allows no longer one, and the index of identities does not take much longer ones. */
export const MAX_SUBJECT = 255

/** The member at a path of a provider's JSON; undefined if the path does not exist. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (current, key) =>
      typeof current === 'object' && current !== null && Object.hasOwn(current, key)
        ? (current as Record<string | number, unknown>)[key]
        : undefined,
    value,
  )
}

/** The text at a path. Numbers become text. Anything else, and empty text, is undefined. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = at(value, ...path)
  if (typeof found === 'number') return String(found)
  return typeof found === 'string' && found !== '' ? found : undefined
}

export function listAt(value: unknown, ...path: readonly (string | number)[]): unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

/** True for true and, as some providers write it, "true". */
export function flagAt(value: unknown, ...path: readonly (string | number)[]): boolean {
  const found = at(value, ...path)
  return found === true || found === 'true'
}

/**
 * The subject at a path. It is required, because an identity without one would belong to everyone. A number that was rounded when the JSON
 * was read is refused too, because it would belong to everyone with a number close to it.
 */
export function subjectAt(value: unknown, ...path: readonly (string | number)[]): string {
  const isRounded = typeof at(value, ...path) === 'number' && !Number.isSafeInteger(at(value, ...path))
  const subject = isRounded ? undefined : textAt(value, ...path)
  if (subject === undefined || subject.length > MAX_SUBJECT)
    throw new ProviderError('the profile has no subject that could be stored')
  return subject
}

/** The only address of a profile, or none. */
export const oneEmail = (email: string | undefined, verified: boolean): ProviderEmail[] =>
  email === undefined ? [] : [{ email, verified, primary: true }]

/** Given name and family name, joined as far as they are known. */
export function joinName(...parts: (string | undefined)[]): string | undefined {
  const name = parts.filter((part) => part !== undefined).join(' ')
  return name === '' ? undefined : name
}

/** Members that the mapping does not name, for `custom_claims`; undefined when none is left. */
export function otherMembers(value: unknown, known: readonly string[]): JsonObject | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const rest = Object.entries(value).filter(([key]) => !known.includes(key))
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}
