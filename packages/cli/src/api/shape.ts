import { isRecord } from './refusals.js'

/** Checks whether a value from outside has the form of a `T`. Members that nobody reads may be anything. */
export type Shape<T> = (value: unknown) => value is T
export type Of<S> = S extends Shape<infer T> ? T : never

type Members = Readonly<Record<string, Shape<unknown>>>
type All<M extends Members> = { [Name in keyof M]: Of<M[Name]> }

export const text: Shape<string> = (value): value is string => typeof value === 'string'
export const number: Shape<number> = (value): value is number => typeof value === 'number'
export const boolean: Shape<boolean> = (value): value is boolean => typeof value === 'boolean'

export const listOf =
  <T>(entry: Shape<T>): Shape<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.every(entry)

/** An object whose values all have the same form, regardless of their names. */
export const mapOf =
  <T>(entry: Shape<T>): Shape<Record<string, T>> =>
  (value): value is Record<string, T> =>
    isRecord(value) && Object.values(value).every(entry)

/** An object with these members, and with the optional ones if they are there. */
export function object<M extends Members, O extends Members = Record<never, never>>(
  members: M,
  optional?: O,
): Shape<All<M> & Partial<All<O>>> {
  const required = Object.entries(members)
  const others = Object.entries(optional ?? {})
  return (value): value is All<M> & Partial<All<O>> =>
    isRecord(value) &&
    required.every(([name, has]) => has(value[name])) &&
    others.every(([name, has]) => value[name] === undefined || has(value[name]))
}
