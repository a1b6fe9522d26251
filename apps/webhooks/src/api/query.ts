import type { Request } from 'express'
import { isDay } from '@signet/http/date-time'
import { badRequest } from '../errors/api-errors.js'
import { RuleError } from '../errors/rule-error.js'

/** A request, or only its query. */
export type WithQuery = Pick<Request, 'query'>

/** Maximum rows of one page of a list (decision 0012). */
export const MAX_PAGE_SIZE = 100

type NumberRule = { fallback: number; max?: number }

/**
 * Reads a whole number from the query by the rules of docs/specification.md#common-rules: values over `max` become `max`, and anything
 * else that is invalid is a 400.
 */
export function numberParameter(
  req: WithQuery,
  name: string,
  { fallback, max = Infinity }: NumberRule,
): number {
  const raw = textParameter(req, name)
  if (raw === undefined) return fallback
  if (!/^[0-9]{1,6}$/.test(raw) || Number(raw) === 0) throw badRequest(`${name} must be ${rangeTo(max)}`)
  return Math.min(Number(raw), max)
}

const MAX_NUMBER = 999_999
const rangeTo = (max: number) =>
  max >= MAX_NUMBER
    ? `between 1 and ${MAX_NUMBER}`
    : `between 1 and ${max}; a larger number, up to ${MAX_NUMBER}, counts as ${max}`

/** Reads a parameter that may be given once. Undefined if it is absent. */
export function textParameter(req: WithQuery, name: string): string | undefined {
  const raw = req.query[name]
  if (raw !== undefined && typeof raw !== 'string') throw new RuleError('query.once', { values: { name } })
  return raw
}

/** Reads the position in a list at which a page starts. Undefined for the first page. */
export function cursorParameter(req: WithQuery): string | undefined {
  const cursor = textParameter(req, 'cursor')
  // If this were treated as the first page, clients that follow `next_cursor` would loop.
  if (cursor === '')
    throw badRequest('cursor is empty, as next_cursor is at the end: leave it out to start again')
  return cursor
}

/** RFC 3339. Go, .NET and Java write up to nine digits of a second. */
const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/i

/** Reads a date and time from the query. Undefined if it is absent. */
export function timeParameter(req: WithQuery, name: string): string | undefined {
  const raw = textParameter(req, name)
  if (raw === undefined) return undefined
  if (TIME.test(raw.replace(' ', '+')) && raw.includes(' '))
    throw badRequest(`${name} has a space where a + belongs: in a URL, write + as %2B`)
  return parseTime(name, raw)
}

/**
 * Converts a time to UTC and keeps its microseconds, which a Date would lose. Drops further digits, which no stored time has. Throws
 * `bad_request`.
 */
export function parseTime(name: string, raw: string): string {
  const [, day = '', fraction = ''] = TIME.exec(raw) ?? []
  const time = new Date(raw.toUpperCase())
  if (day === '' || Number.isNaN(time.getTime()) || !isDay(day) || !hasYear(time))
    throw new RuleError('query.time', { values: { name } })
  return `${time.toISOString().slice(0, -'.000Z'.length)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
}

/** PostgreSQL has no year 0. */
const hasYear = (time: Date) => time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999

/** Reads one of the allowed values from the query. Undefined if it is absent. */
export function choiceParameter<T extends string>(
  req: WithQuery,
  name: string,
  choices: readonly T[],
): T | undefined {
  const raw = textParameter(req, name)
  if (raw === undefined) return undefined
  const choice = choices.find((one) => one === raw)
  if (choice === undefined)
    throw new RuleError('query.choice', { values: { name, choices: choices.join(', ') } })
  return choice
}
